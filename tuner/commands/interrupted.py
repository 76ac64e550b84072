"""What rcp-tune says when a signal ends a search: how to go on with it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from rcp.tuner.session.signals import Signals


@contextmanager
def told_how_to_go_on(study: Path) -> Iterator[None]:
    """Let signals end the tuning in order, and say that nothing is lost."""
    signals = Signals()
    signals.install()
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        number = ended.code if isinstance(ended, SystemExit) else 128 + signal.SIGINT
        if study.exists():
            click.echo(f"rcp-tune: ended by a signal: --resume goes on with {study}", err=True)
        # Not click's 1, which says that the SLOs are not met.
        raise SystemExit(number) from None
    finally:
        signals.remove()
