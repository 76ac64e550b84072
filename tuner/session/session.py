"""A session: sets knobs while it lasts, and restores every one of them at its end.

with KnobSession(catalog(tree, "sda")) as session:
    session.apply({"disk.scheduler": "mq-deadline", "iosched.read_expire": 50})
    …
    session.apply({})   # every knob as before the session
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
from rcp.tuner.session.apply_settings import SettingsApplier, check_settings
from rcp.tuner.session.dry_plan import Plan
from rcp.tuner.session.journal import DEFAULT_FOLDER, VERSION, Journal, Record
from rcp.tuner.session.ledger import Ledger
from rcp.tuner.session.machine_lock import MachineLock
from rcp.tuner.session.restore import (
    NotRestoredError,
    Restoration,
    boot_id,
    failed_text,
    finish,
    recover,
    restore_all,
)
from rcp.tuner.session.signals import Signals
from rcp.tuner.session.writer import KnobWriter


class KnobSession:
    """Sets knobs and restores them, on success and on any exception or signal.

    *yes* allows values outside the safe ranges. With *dry_run* no knob and no journal is written:
    ``planned`` collects the writes as shell commands.
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
        """What was restored at the start, after a tuner that was killed."""
        self.restoration: Restoration | None = None
        """What was restored at the end."""
        self._folder = folder
        self._yes = yes
        self._plan = Plan(catalog, self.planned) if dry_run else None
        self._step = step
        self._signals = Signals()
        self._journal: Journal | None = None

    def __enter__(self) -> KnobSession:
        if self._plan is not None:
            return self
        self._lock = MachineLock(self._folder)
        self._signals.install()
        try:
            with self._signals.deferred():
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
            ledger.apply(record)
        self._journal = Journal.create(self._folder, iter(records), self._step)
        self._writer = KnobWriter(self.catalog.tree, self._journal, ledger)
        self._writer.handles |= self.catalog.handles
        self._applier = SettingsApplier(self.catalog, self._writer)

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
        """Set knobs; those not named return to their state before the session.

        Knobs of a scheduler or profile that is set have the values that the kernel gives with it.
        Raises KnobError and AdminChangedError; the session can continue after either.
        """
        check_settings(self.catalog, settings, self._yes)
        if self._plan is not None:
            self._plan.apply(settings)
            return
        with self._signals.deferred():
            self._applier.apply(settings)

    def current(self) -> dict[str, Value]:
        """Return the values of all knobs that exist now."""
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
            with self._signals.deferred():
                self._end()
        finally:
            self._leave()
        if self.restoration and self.restoration.failed:
            if error is None:
                raise NotRestoredError(self.restoration)
            error.add_note(f"not restored: {failed_text(self.restoration)}")

    def _end(self) -> None:
        self.restoration = restore_all(self._writer)
        if not self.restoration.failed:
            finish(self._writer, self.restoration)


def _state(catalog: Catalog, handle: Handle) -> str | None:
    with suppress(TuneError):
        return handle.cell.state(catalog.tree)
    return None
