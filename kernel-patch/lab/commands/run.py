"""``rcp-lab run``: a scenario or a command in a fresh guest."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from rcp.lab.command import AFTER, Command
from rcp.lab.commands.options import (
    checkout_option,
    memory_option,
    newest_option,
    quiet_option,
    scenarios_option,
)
from rcp.lab.progress import Progress
from rcp.probes.contract import completions

KERNELS = ("stock", "rcp", "rcp-debug", "rcp-kcsan", "upstream", "plain")
"""Those of ``kernel.NAMES``."""


def _modules() -> Iterable[str]:
    from rcp.lab import module

    return module.FOLDERS


@click.command("run", cls=Command, short_help="Run a scenario or a command.")
@click.argument(
    "name",
    required=False,
    metavar="[SCENARIO] [-- CMD ARGS...]",
    shell_complete=completions.SCENARIOS,
)
@click.option("--timing", "mode", flag_value="timing", help="One CPU in virtual time.")
@click.option("--functional", "mode", flag_value="functional", help="Two CPUs in host time.")
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    default="stock",
    show_default=True,
    help="stock: Debian's kernel; others are built by rcp-lab build.",
)
@click.option(
    "-e",
    "--env",
    "env",
    multiple=True,
    metavar="KEY=VALUE",
    shell_complete=completions.parameters,
    help="Environment variable to set in the guest.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="File or folder to copy to $RCP_LAB_IN/inputs.",
)
@click.option(
    "--module",
    "modules",
    multiple=True,
    shell_complete=completions.words_from(_modules),
    help="Kernel module to load first.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Folder for the results; an earlier run there is replaced.  "
    "[default: build/lab/NAME-TIME]",
)
@click.option(
    "--timeout",
    "timeout_s",
    type=click.FloatRange(min=0, min_open=True),
    help="Wall-clock limit in seconds.  [default: the scenario's, else 600]",
)
@memory_option
@click.option(
    "--output-mb",
    default=512,
    show_default=True,
    help="Size of the output disk in MiB, rounded up to a multiple of 128.",
)
@click.option(
    "--accel",
    type=click.Choice(["tcg", "kvm"]),
    default="tcg",
    show_default=True,
    help="kvm is faster if available, but has no virtual time and is not covered by rcp's tests.",
)
@click.option(
    "--shift",
    type=click.IntRange(min=0, max=1000),
    default=0,
    show_default=True,
    envvar="RCP_LAB_SHIFT",
    show_envvar=True,
    help="Start the command N x 137 us later, with N more pages in use: the same work under other "
    "interleavings.",
    metavar="N",
)
@newest_option
@click.option("--dry-run", is_flag=True, help="Print the QEMU command and stop.")
@checkout_option
@scenarios_option
@quiet_option
@click.pass_context
def run_command(ctx: click.Context, /, **options: Any) -> None:
    """Run a scenario, or the shell command after --, in a fresh guest.

    The exit status is the command's; 124: the wall-clock limit was reached; 125: the guest died
    without a result. Files that the command writes to $RCP_LAB_OUT are copied to the output
    folder, beside stdout.txt, stderr.txt, console.log and result.json.

    \b
    Examples:
      rcp-lab run --timing wal-vs-checkpoint
      rcp-lab run wal-vs-checkpoint -e SECONDS=20 --out build/lab/wal
      rcp-lab run --timing -- fio --version
      rcp-lab run --timing --shift 1 wal-vs-checkpoint
      rcp-lab run --newest -- uname -r
      rcp-lab run --functional -- 'dmesg > $RCP_LAB_OUT/dmesg.txt'
      rcp-lab run --kernel rcp --module rcpdisk -- 'ls /sys/kernel/config/rcpdisk'
    """
    import shlex

    from rcp.lab import request, run, vm

    progress = Progress(quiet=options["quiet"])
    wanted = request.from_options(options, ctx.meta.get(AFTER), progress)
    if options["dry_run"]:
        files = vm.Files(Path("INPUT.tar"), Path("OUTPUT.img"), wanted.out.resolve())
        click.echo(shlex.join(vm.command(wanted.machine, files)))
        return
    run.prepare_out(wanted.out)
    report = run.execute(wanted, progress)
    virtual = "virtual time" if wanted.machine.virtual_time else "host time"
    progress.stage(f"exit status {report.exit_status} ({virtual}), results in {wanted.out}")
    ctx.exit(report.exit_status)
