"""Correct for coordinated omission: add the requests that a closed loop did not send.

A client that sends a request every 1 ms and waits 2 s for one answer leaves out 2000 requests, each
of which would have waited. As in HdrHistogram, a latency longer than the interval also counts for
the requests that should have started meanwhile: 2 s, 1.999 s, 1.998 s, …
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from rcp.analyzer.latencies.latency import (
    MAX_NS,
    Histogram,
    Latencies,
    Times,
    fail,
    histogram_of,
)

ADDED_MAX = 50_000_000
"""If the correction would add more requests than this, the interval is wrong."""


def _with_omitted(table: Histogram, interval_ns: int, source: str) -> Histogram:
    values, counts = table.values_ns, np.diff(table.cumulative, prepend=0)
    if values.size and values.max() >= MAX_NS:
        fail(source, "has a bucket without an upper bound", "the correction needs every latency")
    missing = np.maximum(values - 1, 0) // interval_ns  # requests that each latency left out
    n_added = int((missing * counts).sum())
    if n_added > ADDED_MAX:
        fail(
            source,
            f"would get {n_added} more requests with an interval of {interval_ns} ns",
            "give the interval at which requests were meant to start",
        )
    place = np.repeat(np.arange(len(values)), missing)
    step = np.arange(len(place)) - np.repeat(np.cumsum(missing) - missing, missing) + 1

    def with_added(times: Times) -> Times:
        added = times[place] - step * interval_ns
        return np.concatenate([times, np.maximum(added, 0)])

    every, weights = with_added(values), np.concatenate([counts, counts[place]])
    order = np.argsort(every, kind="stable")
    # What is added is known no more exactly than the latency that it is taken from.
    lower = None if table.lower_ns is None else with_added(table.lower_ns)[order]
    return Histogram(every[order], np.cumsum(weights[order]), lower)


def corrected(latencies: Latencies, interval_ns: int) -> Latencies:
    """Return *latencies* plus the requests that a closed loop left out; raise LatencyError."""
    if latencies.points:
        fail(latencies.source, "has quantiles only", "the correction needs every latency")
    tables = {kind: histogram_of(times) for kind, times in latencies.by_kind.items()}
    tables |= latencies.histograms

    def with_omitted(table: Histogram) -> Histogram:
        return _with_omitted(table, interval_ns, latencies.source)

    whole = latencies.outermost
    return replace(
        latencies,
        by_kind={},
        histograms={kind: with_omitted(table) for kind, table in tables.items()},
        # Outermost requests are counted apart from the kinds nested in them.
        outermost=None if whole is None else with_omitted(histogram_of(whole)).each(),
        open_loop=True,
        warnings=(
            *latencies.warnings,
            f"{latencies.source}: corrected for coordinated omission; the added latencies are "
            "estimates",
        ),
    )
