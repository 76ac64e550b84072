"""A source that counts what is drained from it, whatever becomes of the records then."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rcp.probes.contract.events import REQUEST, Record
from rcp.probes.cost.between import Between, nothing
from rcp.probes.cost.shedding import Shedding
from rcp.probes.drain import Counters, Rows, Source


class CountingSource:
    """Passes a Source on; *on_requests* gets the requests of each drain."""

    def __init__(self, source: Source, on_requests: Callable[[Rows], None]) -> None:
        """Count from now on."""
        self._source, self._on_requests = source, on_requests
        self.n_drained = 0

    @property
    def fill(self) -> float:
        """How full the fullest ring is, 0 to 1."""
        return self._source.fill

    def drain(self, record: Record, most: int | None = None) -> Rows:
        """Take all finished records of one type, or the oldest *most*."""
        rows = self._source.drain(record, most)
        self.n_drained += len(rows)
        if record == REQUEST:
            self._on_requests(rows)
        return rows

    def counters(self, between: Between = nothing) -> Counters:
        """Return what was counted, by kind, record type and CPU."""
        return self._source.counters(between)

    def shed(self, shedding: Shedding) -> None:
        """Apply *shedding* from now on."""
        self._source.shed(shedding)

    def attach_module(self, name: str) -> bool:
        """Attach the probes of a module that has been loaded since; return whether they run."""
        return self._source.attach_module(name)

    @property
    def program_fds(self) -> list[int]:
        """File descriptors of the BPF programs."""
        return self._source.program_fds

    def stacks(self, ids: Iterable[int]) -> Iterable[tuple[int, list[str]]]:
        """Return kernel stacks, innermost frame first."""
        return self._source.stacks(ids)

    def unfinished_requests(self, record: Record) -> Rows:
        """Return the unfinished requests."""
        return self._source.unfinished_requests(record)
