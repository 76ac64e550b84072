"""The hint that rcp-tune prints when a signal ends a run: how to resume it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rcp.probes.contract.printing.output import print_note
from rcp.tuner.session.signals import Signals


@contextmanager
def resume_hint(study: Path) -> Iterator[None]:
    """Let signals end the tuning cleanly, and print how to resume *study*."""
    signals = Signals()
    signals.install()
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        number = ended.code if isinstance(ended, SystemExit) else 128 + signal.SIGINT
        if study.exists():
            print_note(f"rcp-tune: ended by a signal: continue {study} with --resume")
        else:
            print_note("rcp-tune: ended by a signal before the first trial was done")
        # Not click's 1, which means that the SLOs are not met.
        raise SystemExit(number) from None
    finally:
        signals.remove()
