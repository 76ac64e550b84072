"""What all commands of rcp-lab share: errors, signals, and the arguments after --."""

import signal
import sys
from typing import Any, NoReturn

import click

from rcp.lab.errors import LabError

AFTER = "rcp.lab.after"
"""Key in ctx.meta of the arguments after --."""


class Command(click.Command):
    """A command that prints LabErrors in one line and stores the arguments after -- (``AFTER``)."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments before --."""
        if "--" in args:
            cut = args.index("--")
            ctx.meta[AFTER] = args[cut + 1 :]
            args = args[:cut]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; print a LabError in one line and exit with its status."""
        try:
            return super().invoke(ctx)
        except LabError as error:
            click.echo(f"rcp-lab: error: {error}", err=True)
            ctx.exit(error.exit_status)
        except KeyboardInterrupt:
            # Not click's 1, which the guest's command may return too.
            click.echo("rcp-lab: interrupted", err=True)
            ctx.exit(128 + signal.SIGINT)


def _terminated(number: int, frame: object) -> NoReturn:
    # A process may be signalled twice, by itself and with its group; one signal must be enough.
    for again in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(again, signal.SIG_IGN)
    # As an exception, so that QEMU and temporary files are cleaned up as on Ctrl-C.
    sys.exit(128 + number)


def catch_signals() -> None:
    """Make SIGTERM and SIGHUP end rcp-lab with cleanup, unless they are ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A signal that nohup ignores stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)
