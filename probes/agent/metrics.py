"""The agent's metrics: what each is called, and how it is counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.agent.bounded import Bounded
from rcp.probes.agent.exposition import (
    COUNTER,
    GAUGE,
    HISTOGRAM,
    Exemplar,
    Family,
    labels_text,
    text_of,
)
from rcp.probes.agent.latency import RequestLatencies, classic_bounds, classic_of

_HELD_UP = ("source", "kind", "culprit", "pattern")
_SOURCE = "sample: a part of ordinary time; trigger: a bad moment."


def _families(c: str = COUNTER, g: str = GAUGE) -> Iterator[Family]:
    """Yield all families, in the order of a scrape."""
    yield Family(
        "rcp_request_duration_seconds",
        HISTOGRAM,
        "Latency of all finished requests.",
        ["request"],
    )
    yield Family(
        "rcp_held_up_seconds",
        c,
        f"Time that inversions took from analysed foreground requests. {_SOURCE}",
        _HELD_UP,
    )
    yield Family("rcp_held_up_requests", c, "Requests that they delayed.", _HELD_UP)
    yield Family(
        "rcp_wait_seconds",
        c,
        "Where analysed foreground requests spent their time.",
        ["source", "reason"],
    )
    yield Family("rcp_analysed_seconds", c, "Time whose requests were analysed.", ["source"])
    yield Family("rcp_analysed_requests", c, "Foreground requests analysed.", ["source"])
    yield Family("rcp_analyses", c, "Analyses by result: ok or failed.", ["source", "result"])
    yield Family("rcp_folded_names", g, "Culprits and patterns counted as other, about.")
    yield Family("rcp_events_recorded", c, "Events that the probes recorded.", ["probe"])
    yield Family("rcp_events_lost", c, "Events lost because a ring was full.", ["probe"])
    yield Family("rcp_events_dropped", c, "Events that were not written because the disk was full.")
    yield Family("rcp_triggers", c, "Requests beyond a --when condition.", ["trigger"])
    yield Family(
        "rcp_triggers_held_back", c, "Of these, those that wrote nothing: too soon after another."
    )
    yield Family("rcp_recordings_written", c, "Recordings that triggers wrote.")
    yield Family(
        "rcp_recordings_deleted", c, "Recordings and summaries deleted, by reason.", ["why"]
    )
    yield Family("rcp_summaries_waiting", g, "Summaries that the fleet has not taken yet.")
    yield Family("rcp_summaries_skipped", c, "Summaries left out to keep the CPU budget.")
    yield Family("rcp_shedding_level", g, "0: everything is recorded; 4: recording pauses.")
    yield Family("rcp_shedding_changes", c, "Changes of this level.")
    yield Family("rcp_disk_full", g, "Whether the window cannot be written.")
    yield Family("rcp_disk_used_bytes", g, "Space that the agent's folder takes.")
    yield Family("rcp_cpu_seconds", c, "CPU time: recorder, probes, analysis.", ["part"])
    yield Family("rcp_resident_memory_bytes", g, "Memory of the recorder.")
    yield Family("rcp_reloads", c, "Times the configuration was read again.", ["result"])
    yield Family("rcp_started_time_seconds", g, "When the agent began, in s since 1970.")
    yield Family("rcp_agent_info", g, "Versions.", ["version", "kernel"])


def metric_labels() -> dict[str, tuple[str, ...]]:
    """Return the names of all samples a scrape can have, with their labels."""
    found: dict[str, tuple[str, ...]] = {}
    for family in _families():
        if family.kind == HISTOGRAM:
            found |= {f"{family.name}_{part}": family.labels for part in ("count", "sum")}
            found[f"{family.name}_bucket"] = (*family.labels, "le")
        else:
            found[family.name + ("_total" if family.kind == COUNTER else "")] = family.labels
    return found


class Metrics:
    """Counts; may be read from another thread."""

    def __init__(self, max_series: int) -> None:
        """*max_series* bounds the triples of kind, culprit and pattern of each source."""
        self._by_name = {family.name: family for family in _families()}
        self._max_series = max_series
        self._bounded: dict[str, Bounded] = {}
        self._lock = Lock()
        self._totals: dict[tuple[str, ...], float] = {}
        self.latencies = RequestLatencies()

    def add(self, name: str, amount: float, *labels: str) -> None:
        """Count *amount* more."""
        with self._lock:
            self._by_name[name].add(amount, *labels)

    def put(self, name: str, value: float, *labels: str) -> None:
        """Replace a value."""
        with self._lock:
            self._by_name[name].put(value, *labels)

    def total(self, name: str, value: float, *labels: str) -> None:
        """Count what a total that somebody else keeps has grown by."""
        key = (name, *labels)
        before = self._totals.get(key, 0.0)
        self._totals[key] = value
        self.add(name, value - before, *labels)

    def begin_totals(self) -> None:
        """Expect totals that begin at 0: their keepers are new."""
        self._totals.clear()

    def count_requests(self, rows: npt.NDArray[np.void], names: Mapping[int, str]) -> None:
        """Count the latencies of finished requests."""
        if len(rows):
            with self._lock:
                self.latencies.count(rows, names)

    def add_analysis(self, source: str, found: Mapping[str, Any], now_s: float) -> None:
        """Count what an analysis found (``rcp.analyzer.agent``); it names a recording if kept."""
        with self._lock:
            self._count_analysis(source, found, now_s)

    def _count_analysis(self, source: str, found: Mapping[str, Any], now_s: float) -> None:
        by_name = self._by_name
        by_name["rcp_analysed_seconds"].add(found["dur_ns"] / 1e9, source)
        by_name["rcp_analysed_requests"].add(found["n_requests"], source)
        for reason, dur_ns in found["waits"]:
            by_name["rcp_wait_seconds"].add(dur_ns / 1e9, source, reason)
        bounded = self._bounded.setdefault(source, Bounded(self._max_series))
        for kind, culprit, pattern, n, dur_ns, request_id, max_ns in found["held_up"]:
            key = (source, *bounded.key((kind, culprit, pattern)))
            by_name["rcp_held_up_requests"].add(n, *key)
            series = by_name["rcp_held_up_seconds"].of(*key)
            series.value += dur_ns / 1e9
            if found["recording"]:
                series.exemplar = _exemplar(found, request_id, max_ns, now_s)
        folded = sum(one.n_folded for one in self._bounded.values())
        by_name["rcp_folded_names"].put(folded)
        if found["recording"]:
            for request, request_id, dur_ns in found["worst"]:
                buckets = by_name["rcp_request_duration_seconds"].buckets(classic_bounds(), request)
                place = classic_of(dur_ns)
                buckets.exemplars[place] = _exemplar(found, request_id, dur_ns, now_s)

    def text(self, is_open: bool) -> str:
        """Return what a scrape gets."""
        with self._lock:
            family = self._by_name["rcp_request_duration_seconds"]
            for request, latency in self.latencies.by_name.items():
                buckets = family.buckets(classic_bounds(), request)
                buckets.upto, buckets.sum_s = latency.classic(), latency.sum_ns / 1e9
            return text_of(self._by_name.values(), is_open)


def _exemplar(found: Mapping[str, Any], request_id: int, dur_ns: int, now_s: float) -> Exemplar:
    """Return an exemplar: ``rcp-trace path RECORDING REQUEST`` shows it.

    The name only: OpenMetrics allows 128 characters.
    """
    name = found["recording"].rpartition("/")[2]
    labels = [("recording", name), ("request", str(request_id))]
    return Exemplar(labels_text(labels), dur_ns / 1e9, now_s)
