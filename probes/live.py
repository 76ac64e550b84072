"""``rcp-trace live``: what delayed requests in each interval of a few seconds.

Records stay in memory. The requests of an interval are analysed with all records since the
earliest of them began. When the analysis uses more than its share of a CPU, intervals get longer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import RECORDS, REQUEST, TASK, Record
from rcp.probes.contract.memory import MemorySpool
from rcp.probes.contract.percent import percent
from rcp.probes.drain import Source
from rcp.probes.flight.rolling import LASTING, counters_since, without_exited
from rcp.probes.signals import Signals

_DRAIN_S = 0.25
_BUSY_DRAIN_S = 0.02
_BUSY_FILL = 0.125
_HISTORY_NS = 10_000_000_000  # of a longer request only this last part is analysed
RECORDS_MAX = 500_000  # in memory; analysing them takes seconds on the reference machine
_LASTING_ROWS_MAX = 131_072

Rows = npt.NDArray[np.void]


@dataclass(frozen=True)
class LivePlan:
    """Length and number of intervals, and the CPU their analysis may use."""

    interval_ns: int
    count: int | None
    """Intervals to show; None: until a signal."""
    max_cpu: float
    """CPUs the analysis may use on average."""


@dataclass(frozen=True)
class Interval:
    """One interval, ready to be analysed."""

    spool: MemorySpool
    dur_ns: int
    n_events: int
    n_lost: int
    n_left_out: int
    """Requests that began before the oldest record in memory."""
    note: str = ""
    """Why the interval is longer than ``--interval``, else empty."""


class History:
    """Records of the last seconds, by arrival time."""

    def __init__(self) -> None:
        """Start empty."""
        self._chunks: list[tuple[int, str, Rows]] = []
        self._lasting: dict[str, Rows] = {r.name: np.empty(0, r.dtype) for r in LASTING}

    def add(self, record: Record, rows: Rows, now_ns: int) -> None:
        """Add records that arrived at ``now_ns``."""
        if not len(rows):
            return
        if record.name in self._lasting:
            both = np.concatenate([self._lasting[record.name], rows])
            if len(both) > _LASTING_ROWS_MAX and record == TASK:
                both = without_exited(both, now_ns - _HISTORY_NS)
            self._lasting[record.name] = both[-_LASTING_ROWS_MAX:]
        else:
            self._chunks.append((now_ns, record.name, rows))

    def forget(self, now_ns: int) -> None:
        """Drop records that are too old, or more than RECORDS_MAX."""
        count = sum(len(rows) for _, _, rows in self._chunks)
        while self._chunks and (self._chunks[0][0] < now_ns - _HISTORY_NS or count > RECORDS_MAX):
            count -= len(self._chunks.pop(0)[2])

    @property
    def began_ns(self) -> int:
        """Arrival of the oldest records; 0 without any."""
        return self._chunks[0][0] if self._chunks else 0

    def since(self, start_ns: int) -> dict[str, Rows]:
        """Return the records that arrived since ``start_ns``, by type, and all tasks and files.

        A record arrives after its event has ended, so no event that ended later is missed.
        """
        parts: dict[str, list[Rows]] = {}
        for arrived_ns, name, rows in self._chunks:
            if arrived_ns >= start_ns:
                parts.setdefault(name, []).append(rows)
        joined = {name: np.concatenate(chunks) for name, chunks in parts.items()}
        return {**joined, **self._lasting}


class Live:
    """Collects intervals from a source."""

    def __init__(
        self,
        source: Source,
        meta: dict[str, Any],
        plan: LivePlan,
        signals: Signals,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """``meta`` is what a spool of the same recording would hold."""
        self._source, self._meta, self._plan, self._signals = source, meta, plan, signals
        self._clock_ns = clock_ns
        self._history = History()
        self._frames: dict[int, list[str]] = {}
        self._stack_ids: set[int] = set()
        self._counters: dict[str, dict[str, list[int]]] = source.counters()
        self._interval_ns = plan.interval_ns
        self._note = ""

    def intervals(self) -> Iterator[Interval]:
        """Yield intervals until there were ``count``, or a signal arrives."""
        n_shown = 0
        while self._plan.count is None or n_shown < self._plan.count:
            interval = self._collect()
            if self._signals.received:
                return
            yield interval
            n_shown += 1

    def fit_interval(self, cpu_s: float) -> None:
        """Set the next interval so that an analysis of ``cpu_s`` CPU seconds stays in its bound."""
        needed_ns = round(cpu_s / self._plan.max_cpu * 1e9)
        self._interval_ns = max(self._plan.interval_ns, needed_ns)
        self._note = ""
        if needed_ns > self._plan.interval_ns:
            self._note = (
                f"analysis took {cpu_s:.2f} s: the interval is {needed_ns / 1e9:.1f} s to stay "
                f"below {percent(self._plan.max_cpu, None)} of one CPU (--max-cpu)"
            )

    def _collect(self) -> Interval:
        started_ns = self._clock_ns()
        requests: list[Rows] = []
        n_events = 0
        while not self._signals.received:
            left_s = (started_ns + self._interval_ns - self._clock_ns()) / 1e9
            if left_s <= 0:
                break
            busy = self._source.fill > _BUSY_FILL
            self._signals.wait(min(left_s, _BUSY_DRAIN_S if busy else _DRAIN_S))
            n_events += self._drain(requests)
        return self._interval(started_ns, requests, n_events)

    def _drain(self, requests: list[Rows]) -> int:
        n_events = 0
        for record in RECORDS:
            rows = self._source.drain(record)
            n_events += len(rows)
            if record == REQUEST:
                requests.append(rows)
                continue
            self._history.add(record, rows, self._clock_ns())  # after all of them ended
            if len(rows) and record.has_stack:
                self._stack_ids.update(int(i) for i in np.unique(rows["stack_id"]) if i >= 0)
        self._history.forget(self._clock_ns())
        return n_events

    def _interval(self, started_ns: int, requests: list[Rows], n_events: int) -> Interval:
        now_ns = self._clock_ns()
        fresh = self._stack_ids - self._frames.keys()
        self._frames.update(self._source.stacks(sorted(fresh)))
        counters = self._source.counters()
        change = counters_since(counters, self._counters)
        self._counters = counters
        rows = np.concatenate([np.empty(0, REQUEST.dtype), *requests])
        n_all = len(rows)
        rows = rows[rows["ts"] >= self._history.began_ns]
        first_ns = int(rows["ts"].min()) if len(rows) else started_ns
        clock = {**self._meta["clock"], "started_monotonic_ns": started_ns}
        spool = MemorySpool(
            path=Path("live"),
            end=None,
            meta={**self._meta, "clock": clock},
            counters=change,
            rows={**self._history.since(min(first_ns, started_ns)), REQUEST.name: rows},
            frames=self._frames,
        )
        return Interval(
            spool=spool,
            dur_ns=now_ns - started_ns,
            n_events=n_events,
            n_lost=sum(map(sum, change.get("lost", {}).values())),
            n_left_out=n_all - len(rows),
            note=self._note,
        )
