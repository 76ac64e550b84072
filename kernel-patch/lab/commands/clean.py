"""``rcp-lab clean``: what no run uses any more."""

from pathlib import Path

import click

from rcp.lab.command import Command
from rcp.lab.commands.options import checkout_option


@click.command(cls=Command, short_help="Delete cached guests and kernels.")
@click.option("--all", "everything", is_flag=True, help="Also delete what the next run would use.")
@checkout_option
def clean(everything: bool, checkout: Path | None) -> None:
    """Delete cached guests, kernels and wheels that no longer match this checkout.

    \b
    Examples:
      rcp-lab clean
      rcp-lab clean --all
    """
    from rcp.lab import cache, kernel, module, rootfs, sources, wheel

    keep: frozenset[str] = frozenset()
    if not everything:
        source = sources.find_checkout(checkout)
        keep = rootfs.entries_in_use(source) | {wheel.cache_name(source)}
        keep |= kernel.entries_in_use(source) | module.entries_in_use(source)
    freed = cache.remove(keep)
    for name, size in freed:
        if not name.endswith(".lock"):
            click.echo(f"removed {name} ({size / 1e6:.1f} MB)")
    click.echo(f"freed {sum(size for _, size in freed)} bytes in {cache.root()}")
