"""rcp-run: mark programs as critical or non-critical without changing them."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

import click

from rcp.mark import levels
from rcp.mark.levels import Level, MarkError

# What shells, env(1) and nice(1) return.
_NOT_EXECUTABLE, _NOT_FOUND = 126, 127
_CONTEXT = {"help_option_names": ["-h", "--help"], "ignore_unknown_options": True}


@click.command(
    context_settings=_CONTEXT, short_help="Run a program with critical or non-critical I/O."
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-run")
@click.option("--critical", is_flag=True, help="Its I/O is critical: foreground work.")
@click.option("--noncritical", is_flag=True, help="Its I/O is non-critical: background work.")
@click.option("--unmark", is_flag=True, help="Remove the mark.")
@click.option(
    "--children/--no-children",
    default=True,
    show_default=True,
    help="Whether its threads and child processes inherit the mark (patched kernel).",
)
@click.option(
    "--pid",
    type=click.IntRange(min=1),
    help="Instead of running COMMAND, mark all threads of this process by I/O priority.",
)
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
def main(children: bool, pid: int | None, command: tuple[str, ...], **flags: bool) -> None:
    """Run COMMAND with its I/O marked as critical or non-critical.

    On a kernel with rcp's patch the mark is set by prctl (PR_RCP). On other kernels it is the
    closest I/O priority class: realtime for --critical, idle for --noncritical. Only the
    schedulers mq-deadline, bfq and rcp honour I/O priorities.

    The exit status is COMMAND's; 127 if it is not found, 126 if it cannot be executed, 2 for other
    errors.

    \b
    Examples:
      rcp-run --critical -- postgres -D /var/lib/postgresql/17/main
      rcp-run --critical --no-children -- redis-server
      rcp-run --noncritical -- pg_basebackup -D /backup
      rcp-run --critical --pid 4711
    """
    try:
        level = _level(flags)
        if (pid is None) == (not command):
            raise click.UsageError("give either a command to run or --pid of a running process.")
        if pid is not None:
            _mark_process(pid, level)
        else:
            _run(command, level, children)
    except MarkError as error:
        _fail(str(error), 2)


def _level(flags: Mapping[str, bool]) -> Level:
    """Return the level whose flag is given; *flags*: critical, noncritical, unmark."""
    given = [name for name, is_given in flags.items() if is_given]
    if not given:
        raise click.UsageError("give one of --critical, --noncritical and --unmark.")
    if len(given) > 1:
        options = " and ".join(f"--{name}" for name in given)
        raise click.UsageError(f"{options} exclude each other: give one of them.")
    return Level.NONE if given == ["unmark"] else Level[given[0].upper()]


def _fail(message: str, status: int) -> NoReturn:
    # Only here, because a program that is started does not need it.
    from rcp.probes.contract.printing.spelled import spelled_text

    click.echo(f"rcp-run: error: {spelled_text(message)}", err=True)
    sys.exit(status)


def _mark_process(pid: int, level: Level) -> None:
    try:
        threads = sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        raise MarkError(f"no process {pid}: ps -e lists the running ones.") from None
    for tid in threads:
        levels.set_io_priority(tid, level)


def _run(command: tuple[str, ...], level: Level, children: bool) -> None:
    if levels.supported():
        levels.mark(level, keep=children)
    else:
        levels.set_io_priority(0, level)
        click.echo(
            f"rcp-run: kernel {os.uname().release} lacks rcp's patch; "
            "marked by I/O priority instead, which children inherit",
            err=True,
        )
    try:
        os.execvp(command[0], command)
    except FileNotFoundError:
        _fail(f"{command[0]}: command not found.", _NOT_FOUND)
    except OSError as error:
        _fail(f"{command[0]}: {error.strerror}.", _NOT_EXECUTABLE)
