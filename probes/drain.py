"""Moves records from the rings to the spool."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import CMDLINE, RECORDS, REQUEST, Record
from rcp.probes.contract.options import FULL
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.cost.between import Between, nothing
from rcp.probes.cost.shedding import Shedding
from rcp.probes.program import STACKS, ring_bytes
from rcp.probes.who.cmdlines import cmdlines_to_store

_PIECE_BYTES = 1 << 15
"""Records that are moved at once: 0.1 to 0.4 ms of work."""
_STACKS_AT_ONCE = 2
_HOUSEKEEPING_S = 1.0  # a SIGKILL loses the counters and new stacks of this time at most
# A stack that could not be taken has a negative error number as its id. As an index that counts
# from the end, so the arrays have room for error numbers (errno.h: up to 4095) at their end.
_STACK_IDS = STACKS + 4096

Rows = npt.NDArray[np.void]
Counters = dict[str, dict[str, list[int]]]


class Source(Protocol):
    """Where records come from: ``attach.Probes``, or arrays in a test."""

    @property
    def fill(self) -> float:
        """How full the fullest ring is, 0 to 1."""

    def drain(self, record: Record, most: int | None = None) -> Rows:
        """Take all finished records of one type, or the oldest *most*."""

    def counters(self, between: Between = nothing) -> Counters:
        """Return what was counted, by kind, record type and CPU.

        *between* is called between two steps: it may take a millisecond.
        """

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
        between: Between = nothing,
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
        """Move all new records to the spool; on a full disk all are taken off the rings as well."""
        faults: list[OSError] = []
        for record in RECORDS:
            for rows in self._pieces(record):
                try:
                    self._take(record, rows)
                except OSError as error:
                    faults.append(error)
                if record == REQUEST:
                    self._on_requests(rows)
                self._between()
        if faults:
            raise faults[0]
        if time.monotonic() >= self._next_housekeeping_s:
            self.housekeep()

    def _pieces(self, record: Record) -> Iterator[Rows]:
        """Yield the finished records of one type in pieces, up to what its ring holds."""
        most = max(_PIECE_BYTES // record.size_bytes, 1)
        for _ in range(ring_bytes(record) // _PIECE_BYTES + 1):
            rows = self._source.drain(record, most)
            yield rows
            if len(rows) < most:
                return

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
        self._spool.append_stacks(self._stacks(fresh.tolist()))
        self._known_stacks |= self._seen_stacks
        self._between()
        self.counters = self._source.counters(self._between) if counters is None else counters
        self._between()
        self._spool.write_counters(self.counters)
        self._next_housekeeping_s = time.monotonic() + _HOUSEKEEPING_S
        self._progress(self.n_records, self._spool.written_bytes)

    def _stacks(self, ids: Sequence[int]) -> Iterator[tuple[int, list[str]]]:
        """Yield stacks; in the first seconds there are hundreds of new ones."""
        for begin in range(0, len(ids), _STACKS_AT_ONCE):
            yield from self._source.stacks(ids[begin : begin + _STACKS_AT_ONCE])
            self._between()

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
