"""What every command of rcp-lab does with errors and signals, and with what follows --."""

import signal
import sys
from typing import Any, NoReturn

import click

from rcp.lab.errors import LabError

AFTER = "rcp.lab.after"
"""Where in ctx.meta the words after -- are."""


class Command(click.Command):
    """A command that prints LabErrors as one line and keeps what follows -- for ``AFTER``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before --."""
        if "--" in args:
            cut = args.index("--")
            ctx.meta[AFTER] = args[cut + 1 :]
            args = args[:cut]
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run it; what went wrong is told in one line."""
        try:
            return super().invoke(ctx)
        except LabError as error:
            click.echo(f"rcp-lab: error: {error}", err=True)
            ctx.exit(error.exit_status)
        except KeyboardInterrupt:
            # Not click's 1, which a guest's command may return as well.
            click.echo("rcp-lab: interrupted", err=True)
            ctx.exit(128 + signal.SIGINT)


def _terminated(number: int, frame: object) -> NoReturn:
    # Whoever ends a group of processes and each of them signals twice; once must be enough.
    for again in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(again, signal.SIG_IGN)
    # As an exception, so that QEMU and temporary files go the way they go on Ctrl-C.
    sys.exit(128 + number)


def catch_signals() -> None:
    """Let SIGTERM and SIGHUP end it in order, unless they are ignored."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        # What nohup ignores stays ignored.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _terminated)
