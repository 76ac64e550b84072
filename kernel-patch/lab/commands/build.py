"""``rcp-lab build``: a kernel with rcp's patches."""

from pathlib import Path

import click

from rcp.lab.command import Command
from rcp.lab.commands.options import checkout_option, quiet_option
from rcp.lab.progress import Progress

DEBUG_KINDS = ("lockdep", "kcsan")
"""Those of ``kernel.DEBUG_FLAVOURS``."""


@click.command(cls=Command, short_help="Build a patched kernel.")
@click.option(
    "--kernel",
    "name",
    type=click.Choice(["rcp", "upstream", "plain"]),
    default="rcp",
    show_default=True,
    help="rcp: with the patches of kernel-patch/patches; upstream: with the few of "
    "kernel-patch/upstream; plain: without, for comparison.",
)
@click.option(
    "--debug",
    is_flag=False,
    flag_value="lockdep",
    type=click.Choice(DEBUG_KINDS),
    help="lockdep (also --debug alone): lockdep, KASAN, DEBUG_ATOMIC_SLEEP; kcsan: KCSAN.",
)
@checkout_option
@quiet_option
def build(name: str, debug: str | None, checkout: Path | None, quiet: bool) -> None:
    """Build Debian's kernel source with rcp's patches, for rcp-lab run --kernel.

    It needs neither root nor a compiler on this host: it builds in a separate Debian tree, which
    is cached with source and objects (about 5 GB). The first build takes about 15 minutes on two
    cores, a rebuild after a small change a minute or two.

    \b
    Examples:
      rcp-lab build --kernel rcp
      rcp-lab build --kernel upstream
      rcp-lab build --kernel rcp --debug
      rcp-lab build --kernel rcp --debug=kcsan
    """
    from rcp.lab import kernel, sources

    progress = Progress(quiet=quiet)
    if debug and name != "rcp":
        raise click.UsageError("--debug goes with --kernel rcp: leave one of them out")
    flavour = kernel.DEBUG_FLAVOURS[debug] if debug else name
    built = kernel.ensure(sources.find_checkout(checkout), flavour, progress)
    click.echo(f"kernel {built.release}\nvmlinuz {built.vmlinuz}")
