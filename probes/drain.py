"""Moves records from the rings to the spool."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import CMDLINE, RECORDS, REQUEST, Record
from rcp.probes.contract.options import FULL
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.cost.shedding import Shedding
from rcp.probes.program import STACKS
from rcp.probes.who.cmdlines import cmdlines_to_store

_HOUSEKEEPING_S = 1.0  # a SIGKILL loses the counters and new stacks of this time at most
# A stack that could not be taken has a negative error number as its id. As an index that counts
# from the end, so the arrays have room for error numbers (errno.h: up to 4095) at their end.
_STACK_IDS = STACKS + 4096

Rows = npt.NDArray[np.void]


class Source(Protocol):
    """Where records come from: ``attach.Probes``, or arrays in a test."""

    @property
    def fill(self) -> float:
        """How full the fullest ring is, 0 to 1."""

    def drain(self, record: Record) -> Rows:
        """Take all finished records of one type."""

    def counters(self) -> dict[str, dict[str, list[int]]]:
        """Return what was counted, by kind, record type and CPU."""

    def shed(self, shedding: Shedding) -> None:
        """Apply ``shedding`` from now on."""

    def attach_module(self, name: str) -> bool:
        """Attach the probes of a module that has been loaded since; return whether they run."""

    @property
    def program_fds(self) -> list[int]:
        """File descriptors of the BPF programs, to read their run times."""

    def stacks(self, ids: Iterable[int]) -> Iterable[tuple[int, list[str]]]:
        """Return kernel stacks, innermost frame first."""

    def unfinished_requests(self, record: Record) -> Rows:
        """Return the unfinished requests."""


class Recorder:
    """Drains a source into a spool; every method may raise OSError (disk full)."""

    def __init__(
        self,
        source: Source,
        spool: SpoolWriter,
        progress: Callable[[int, int], None] = lambda n_records, n_bytes: None,
        on_requests: Callable[[Rows], None] = lambda rows: None,
        cmdline: str = FULL,
        between: Callable[[], None] = lambda: None,
    ) -> None:
        """``on_requests`` gets the requests of each drain; ``cmdline``: see ``cmdlines.py``.

        ``between`` is called between two steps of a drain.
        """
        self._source, self._spool, self._between = source, spool, between
        self._progress, self._on_requests = progress, on_requests
        self._cmdline = cmdline
        self._seen_stacks = np.zeros(_STACK_IDS, np.bool_)
        self._known_stacks = np.zeros(_STACK_IDS, np.bool_)
        self._next_housekeeping_s = 0.0
        self._n_spooled: dict[str, int] = {}
        self.n_records = 0
        self.counters: dict[str, Any] = {}
        """As of the last housekeeping."""

    @property
    def n_lost(self) -> int:
        """Records lost by the last housekeeping, all probes together."""
        return sum(map(sum, self.counters.get("lost", {}).values()))

    def drain(self) -> None:
        """Move all new records to the spool."""
        for record in RECORDS:
            rows = self._source.drain(record)
            self._take(record, rows)
            if record == REQUEST:
                self._on_requests(rows)
            self._between()
        if time.monotonic() >= self._next_housekeeping_s:
            self.housekeep()

    def _take(self, record: Record, rows: Rows) -> None:
        if record == CMDLINE:
            rows = cmdlines_to_store(rows, self._cmdline)
        self._spool.append(record, rows)
        self._n_spooled[record.name] = self._n_spooled.get(record.name, 0) + len(rows)
        self.n_records += len(rows)
        if len(rows) and record.has_stack:
            self._seen_stacks[rows["stack_id"]] = True

    def housekeep(self, counters: dict[str, Any] | None = None) -> None:
        """Spool new stacks and the counters; these are read unless given."""
        fresh = np.flatnonzero((self._seen_stacks & ~self._known_stacks)[:STACKS])
        self._spool.append_stacks(self._source.stacks(fresh.tolist()))
        self._known_stacks |= self._seen_stacks
        self._between()
        self.counters = self._source.counters() if counters is None else counters
        self._between()
        self._spool.write_counters(self.counters)
        self._next_housekeeping_s = time.monotonic() + _HOUSEKEEPING_S
        self._progress(self.n_records, self._spool.written_bytes)

    def finish(self) -> None:
        """Spool the remaining records, and the unfinished requests."""
        self.drain()
        unfinished = self._source.unfinished_requests(REQUEST)
        counters = self._source.counters()
        for record in RECORDS:
            # The probes still run. Spool only the records counted above, so that the counters
            # match the spool exactly.
            n_written = sum(counters.get("written", {}).get(record.name, ()))
            n_missing = max(n_written - self._n_spooled.get(record.name, 0), 0)
            self._take(record, self._source.drain(record)[:n_missing])
        self._take(REQUEST, unfinished)
        self.housekeep(counters)
