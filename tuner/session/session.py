"""A session: the knobs are the tuner's until it ends, and then they are as they were.

with KnobSession(catalog(tree, "sda")) as session:
    session.apply({"disk.scheduler": "mq-deadline", "iosched.read_expire": 50})
    …
    session.apply({})   # all as it was
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.knobs.tree import Step, no_step
from rcp.tuner.session.dry_plan import Plan
from rcp.tuner.session.journal import DEFAULT_FOLDER, VERSION, Journal, Record
from rcp.tuner.session.ledger import Ledger
from rcp.tuner.session.machine_lock import Lock
from rcp.tuner.session.restore import (
    NotRestoredError,
    Restoration,
    boot_id,
    failed_text,
    finish,
    put_back,
    recover,
)
from rcp.tuner.session.settling import Settling, checked_settings
from rcp.tuner.session.signals import Signals
from rcp.tuner.session.writer import Putter


class KnobSession:
    """Sets knobs and puts them back, whatever happens.

    *yes* allows values beyond the safe ranges. With *dry_run* nothing is written and no journal
    is kept: ``planned`` collects the writes as lines of shell.
    """

    def __init__(
        self,
        catalog: Catalog,
        folder: Path = DEFAULT_FOLDER,
        *,
        yes: bool = False,
        dry_run: bool = False,
        step: Step = no_step,
    ) -> None:
        self.catalog = catalog
        self.planned: list[str] = []
        self.recovered: Restoration | None = None
        """What was put back first, after a tuner that was killed."""
        self.restoration: Restoration | None = None
        """What was put back at the end."""
        self._folder = folder
        self._yes = yes
        self._plan = Plan(catalog, self.planned) if dry_run else None
        self._step = step
        self._signals = Signals()
        self._journal: Journal | None = None

    def __enter__(self) -> KnobSession:
        if self._plan is not None:
            return self
        self._lock = Lock(self._folder)
        self._signals.install()
        try:
            with self._signals.held():
                self._recover()
                self._begin()
        except BaseException:
            self._leave()
            raise
        return self

    def _recover(self) -> None:
        self.recovered = recover(self.catalog.tree, self._folder, self._step)
        if self.recovered is not None and self.recovered.failed:
            raise NotRestoredError(self.recovered)

    def _leave(self) -> None:
        if self._journal is not None:
            self._journal.close()
        self._lock.release()
        self._signals.remove()

    def _begin(self) -> None:
        snapshot = list(self._snapshot())
        records = [self._head(len(snapshot)), *snapshot]
        ledger = Ledger()
        for record in records:
            ledger.take_in(record)
        self._journal = Journal.create(self._folder, iter(records), self._step)
        self._putter = Putter(self.catalog.tree, self._journal, ledger)
        self._putter.handles |= self.catalog.handles
        self._settling = Settling(self.catalog, self._putter)

    def _head(self, n_knobs: int) -> Record:
        return {
            "kind": "begin",
            "version": VERSION,
            "boot_id": boot_id(self.catalog.tree),
            "pid": os.getpid(),
            "disk": self.catalog.disk,
            "time_s": int(time.time()),
            "knobs": n_knobs,
        }

    def _snapshot(self) -> Iterator[Record]:
        for handle in (*self.catalog.handles.values(), *self.catalog.besides()):
            state = _state(self.catalog, handle)
            if state is not None:
                yield {"kind": "knob", "handle": handle.to_json(), "state": state}

    def apply(self, settings: Settings) -> None:
        """Set knobs; those not named hold what they held before the session.

        Knobs of a scheduler or a profile that is set hold what the kernel gave them with it.
        Raises KnobError, AdminChangedError; the session can go on after either.
        """
        checked_settings(self.catalog, settings, self._yes)
        if self._plan is not None:
            self._plan.apply(settings)
            return
        with self._signals.held():
            self._settling.apply(settings)

    def current(self) -> dict[str, Value]:
        """Return the values of all knobs that are there now."""
        return self.catalog.current() if self._plan is None else self._plan.current()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._plan is not None:
            return
        try:
            with self._signals.held():
                self._end()
        finally:
            self._leave()
        if self.restoration and self.restoration.failed:
            if error is None:
                raise NotRestoredError(self.restoration)
            error.add_note(f"not put back: {failed_text(self.restoration)}")

    def _end(self) -> None:
        self.restoration = put_back(self._putter)
        if not self.restoration.failed:
            finish(self._putter, self.restoration)


def _state(catalog: Catalog, handle: Handle) -> str | None:
    with suppress(TuneError):
        return handle.cell.state(catalog.tree)
    return None
