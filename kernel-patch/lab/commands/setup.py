"""``rcp-lab setup``: the guest."""

from pathlib import Path

import click

from rcp.lab.command import Command
from rcp.lab.commands.options import checkout_option, newest_option, quiet_option
from rcp.lab.progress import Progress


@click.command(cls=Command, short_help="Build the guest now.")
@newest_option
@checkout_option
@quiet_option
@click.pass_context
def setup(ctx: click.Context, newest: bool, checkout: Path | None, quiet: bool) -> None:
    """Build the guest now, so that later runs start without delay.

    The result is cached below $RCP_CACHE, $XDG_CACHE_HOME/rcp or ~/.cache/rcp and rebuilt only
    when its inputs change. Works as root and as an ordinary user. Its kernel is of the version that
    the patches are for, while Debian serves it, else the newest. A line on standard error says how
    its packages differ from those that documented figures were made with.

    \b
    Examples:
      rcp-lab setup
      RCP_CACHE=/var/cache/rcp rcp-lab setup
      rcp-lab setup --newest && RCP_LAB_NEWEST=1 make test-lab
    """
    from rcp.lab import rootfs, sources, vm, wheel

    progress = Progress(quiet=quiet)
    vm.require()
    source = sources.find_checkout(checkout)
    # Typed, it asks for today's newest kernel; the variable only says which guest is meant, to
    # everything that makes sure of a guest before it boots one.
    typed = ctx.get_parameter_source("newest") is click.core.ParameterSource.COMMANDLINE
    root = rootfs.ensure(source, progress, newest, anew=newest and typed)
    wheel.ensure(source, progress)
    click.echo(f"kernel {root.release}\nrootfs {root.image}")
    if differs := rootfs.difference(rootfs.installed(root), rootfs.documented(source)):
        click.echo(f"rcp-lab: {differs}", err=True)
