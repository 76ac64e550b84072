"""Coordinated omission: what a closed loop did not ask while it waited, put back.

A client that asks every 1 ms and waits 2 s for an answer leaves out 2000 requests, each of which
would have waited. As HdrHistogram does, a latency beyond the interval stands for itself and for
those that should have begun meanwhile: 2 s, 1.999 s, 1.998 s, …
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rcp.analyzer.latencies.latency import Histogram, Latencies, Times, fail, histogram_of

ADDED_MAX = 50_000_000
"""More requests than that were never meant to be made: the interval is wrong."""


def _put_back(values: Times, counts: Times, interval_ns: int, source: str) -> Histogram:
    missing = np.maximum(values - 1, 0) // interval_ns  # of each, above the interval and below it
    n_added = int((missing * counts).sum())
    if n_added > ADDED_MAX:
        fail(
            source,
            f"would get {n_added} requests more by an interval of {interval_ns} ns",
            "say the interval at which requests were meant to begin",
        )
    place = np.repeat(np.arange(len(values)), missing)
    step = np.arange(len(place)) - np.repeat(np.cumsum(missing) - missing, missing) + 1
    added = values[place] - step * interval_ns
    every, weights = np.concatenate([values, added]), np.concatenate([counts, counts[place]])
    order = np.argsort(every, kind="stable")
    return Histogram(every[order], np.cumsum(weights[order]))


def corrected(latencies: Latencies, interval_ns: int) -> Latencies:
    """Return *latencies* with what a closed loop left out; raise LatencyError."""
    if latencies.points:
        fail(latencies.source, "has quantiles only", "correct what has every latency")
    tables = {kind: histogram_of(times) for kind, times in latencies.by_kind.items()}
    tables |= latencies.histograms

    def put_back(table: Histogram) -> Histogram:
        counts = np.diff(table.cumulative, prepend=0)
        return _put_back(table.values_ns, counts, interval_ns, latencies.source)

    whole = latencies.outermost
    return replace(
        latencies,
        by_kind={},
        histograms={kind: put_back(table) for kind, table in tables.items()},
        # What counts without a kind keeps being apart from the kinds inside it.
        outermost=None if whole is None else put_back(histogram_of(whole)).each(),
        open_loop=True,
        warnings=(
            *latencies.warnings,
            f"{latencies.source}: corrected for what a closed loop left out, by estimate",
        ),
    )
