"""Measures what a scrape of the agent costs, for ``make bench``: a scrape of 10,000 series.

Prints one JSON object: rendering alone, and over HTTP as Prometheus asks.
"""

from __future__ import annotations

import argparse
import json
import time
import urllib.request
from collections.abc import Callable

from rcp.probes.agent.bounded import Bounded
from rcp.probes.agent.endpoint import Endpoint
from rcp.probes.agent.metrics import Metrics

SERIES = 10_000
_NAMES = 100_000
_RUNS = 7


def filled(n_series: int) -> Metrics:
    """Return metrics with about *n_series* series: a culprit has two."""
    n = n_series // 2
    metrics = Metrics(n)
    held_up = [
        ["lock", f"culprit-{i}", f"fsync > lock > {i}", 3, 1_234_567 + i, i, 7654] for i in range(n)
    ]
    found = {"dur_ns": 1, "n_requests": 1, "waits": [], "worst": [], "held_up": held_up}
    metrics.add_analysis("trigger", {**found, "recording": "2026-01-31T041700.000Z.duckdb"}, 1.0)
    return metrics


def _best_ms(run: Callable[[], object], clock: Callable[[], float]) -> float:
    times = []
    for _ in range(_RUNS):
        began_s = clock()
        run()
        times.append(clock() - began_s)
    return round(min(times) * 1e3, 2)


def _asked_ms(metrics: Metrics) -> float:
    """Return the time of a scrape over HTTP, rendered anew."""
    times = []
    for _ in range(_RUNS):
        with Endpoint(("127.0.0.1", 0), metrics.text) as endpoint:
            accept = {"Accept": "application/openmetrics-text;version=1.0.0"}
            url = f"http://127.0.0.1:{endpoint.port}/metrics"
            began_s = time.perf_counter()
            with urllib.request.urlopen(urllib.request.Request(url, headers=accept)) as answer:
                answer.read()
            times.append(time.perf_counter() - began_s)
    return round(min(times) * 1e3, 2)


def _bounding_us() -> float:
    bounded = Bounded(200)
    began_s = time.process_time()
    for i in range(_NAMES):
        bounded.key(("lock", f"comm-{i}", "fsync > lock"))
    return round((time.process_time() - began_s) / _NAMES * 1e6, 2)


def main() -> None:
    """Measure and print."""
    argparse.ArgumentParser(description=__doc__).parse_known_args()
    metrics = filled(SERIES)
    text = metrics.text(is_open=True)
    print(
        json.dumps(
            {
                "n_series": sum(not line.startswith("#") for line in text.splitlines()),
                "scrape_bytes": len(text.encode()),
                "render_cpu_ms": _best_ms(lambda: metrics.text(is_open=True), time.process_time),
                "render_ms": _best_ms(lambda: metrics.text(is_open=True), time.perf_counter),
                "scrape_ms": _asked_ms(metrics),
                "bounding_us_per_name": _bounding_us(),
            },
            indent=1,
        )
    )


if __name__ == "__main__":
    main()
