"""``rcp-lab shell``: a root shell in a fresh guest."""

import sys
from pathlib import Path

import click

from rcp.lab.command import Command
from rcp.lab.commands.options import checkout_option, memory_option, newest_option
from rcp.lab.progress import Progress


@click.command(cls=Command, short_help="Open a root shell in a guest.")
@newest_option
@checkout_option
@memory_option
@click.option(
    "--timeout",
    "timeout_s",
    default=14400.0,
    show_default=True,
    help="Wall-clock limit in seconds.",
)
def shell(newest: bool, checkout: Path | None, memory_mb: int | None, timeout_s: float) -> None:
    """Open a root shell in a fresh guest, with rcp installed (functional mode).

    Leave it with exit or Ctrl-D. Its files are then lost: use rcp-lab run to copy files back.

    \b
    Examples:
      rcp-lab shell
      rcp-lab shell --memory 4096
    """
    if not sys.stdin.isatty():
        raise click.UsageError("rcp-lab shell needs a terminal: use rcp-lab run -- CMD instead")
    import shutil
    import tempfile

    from rcp.lab import payload, rootfs, run, sources, vm, wheel

    progress = Progress()
    vm.require()
    source = sources.find_checkout(checkout)
    root = rootfs.ensure(source, progress, newest)
    machine = vm.Machine("functional", root, memory_mb=memory_mb or 2048)
    columns, rows = shutil.get_terminal_size()
    env = {"RCP_LAB_VIRTUAL_TIME": "0", "RCP_LAB_ROWS": str(rows), "RCP_LAB_COLS": str(columns)}
    job = payload.Job("", wheel.ensure(source, progress), env=env, shell=True)
    with tempfile.TemporaryDirectory(prefix="rcp-lab-shell-") as out:
        wanted = run.Request("shell", job, machine, Path(out), timeout_s, output_mb=64)
        progress.stage("booting (exit or Ctrl-D ends the machine)")
        with run.disks(wanted) as files:
            vm.run_interactive(vm.command(machine, files, interactive=True), timeout_s)
