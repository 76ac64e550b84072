"""rcp-run: mark programs as critical or non-critical without changing them."""

import os
import sys
from pathlib import Path

import click

from rcp.mark import levels
from rcp.mark.levels import Level, MarkError

_CONTEXT = {"help_option_names": ["-h", "--help"], "ignore_unknown_options": True}


@click.command(
    context_settings=_CONTEXT, short_help="Run a program with critical or non-critical I/O."
)
@click.version_option(package_name="rcp-trace", prog_name="rcp-run")
@click.option(
    "--critical",
    "level",
    flag_value="critical",
    help="Its I/O is critical: foreground work.",
)
@click.option(
    "--noncritical",
    "level",
    flag_value="noncritical",
    help="Its I/O is non-critical: background work.",
)
@click.option("--unmark", "level", flag_value="none", help="Remove the mark.")
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
def main(level: str | None, children: bool, pid: int | None, command: tuple[str, ...]) -> None:
    """Run COMMAND with its I/O marked as critical or non-critical.

    On a kernel with rcp's patch the mark is set by prctl (PR_RCP). On other kernels it is the
    closest I/O priority class: realtime for --critical, idle for --noncritical. Only the
    schedulers mq-deadline, bfq and rcp honour I/O priorities.

    \b
    Examples:
      rcp-run --critical -- postgres -D /var/lib/postgresql/17/main
      rcp-run --critical --no-children -- redis-server
      rcp-run --noncritical -- pg_basebackup -D /backup
      rcp-run --critical --pid 4711
    """
    try:
        if level is None:
            raise click.UsageError("give one of --critical, --noncritical and --unmark")
        if (pid is None) == (not command):
            raise click.UsageError("give either a command to run or --pid of a running process")
        if pid is not None:
            _mark_process(pid, Level[level.upper()])
        else:
            _run(command, Level[level.upper()], children)
    except MarkError as error:
        click.echo(f"rcp-run: error: {error}", err=True)
        sys.exit(2)


def _mark_process(pid: int, level: Level) -> None:
    try:
        threads = sorted(int(entry.name) for entry in Path(f"/proc/{pid}/task").iterdir())
    except FileNotFoundError:
        raise MarkError(f"no process {pid}: ps -e lists the running ones") from None
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
        raise MarkError(f"{command[0]}: command not found") from None
    except OSError as error:
        raise MarkError(f"{command[0]}: {error.strerror}") from error
