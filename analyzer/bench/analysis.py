"""Measures the analyzer: load rate, critical paths, inversions, memory.

    python -m rcp.analyzer.bench.analysis [--rows N] [--large] [--json]

``--rows`` is the number of sleeps and of ios; there is one request per ten (``bench.recording``).
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import resource
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from rcp.analyzer.bench.recording import write_spool
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.inversions import find_inversions
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import (
    insert_records,
    insert_verdicts,
    load_spool,
    read_trace,
    request_names,
)
from rcp.analyzer.paths.critical_path import critical_paths
from rcp.probes.contract.spool import open_spool

ROWS = 1_000_000


def host_facts() -> dict[str, Any]:
    """Return facts about the host that a measurement depends on, other load included."""
    return {
        "n_cores": os.cpu_count(),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "load_average": round(os.getloadavg()[0], 1),
    }


def _median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {name: round(float(np.median([run[name] for run in runs])), 4) for name in runs[0]}


def _measure(folder: Path, target: Path) -> dict[str, float]:
    """Load step by step; return seconds and counts."""
    clock = [time.perf_counter()]

    def lap() -> float:
        clock.append(time.perf_counter())
        return clock[-1] - clock[-2]

    target.unlink(missing_ok=True)
    spool = open_spool(folder)
    names = request_names(spool.meta)
    with Store.create(target) as store:
        lap()
        trace = read_trace(spool)
        map_s = lap()
        n_recorded = insert_records(store, spool, trace, {})
        insert_s = lap()
        paths = critical_paths(trace.sleeps, trace.ios, trace.requests, len(trace.tasks))
        paths_s = lap()
        causes = io_causes(trace)
        inversions = find_inversions(trace, paths, causes, names)
        inversions_s = lap()
        n_derived = insert_verdicts(store, trace, paths, causes, inversions, names)
        derived_s = lap()
    return {
        "recorded_rows": n_recorded,
        "derived_rows": n_derived,
        "requests": len(trace.requests),
        "segments": len(paths.segments),
        "edges": len(paths.edges),
        "inversions": len(inversions),
        "map_s": map_s,
        "insert_s": insert_s,
        "critical_paths_s": paths_s,
        "inversions_s": inversions_s,
        "insert_verdicts_s": derived_s,
        "load_rows_per_s": n_recorded / (map_s + insert_s),
        "derived_rows_per_s": n_derived / derived_s,
    }


def measure(rows: int, runs: int) -> dict[str, Any]:
    """Return the median of ``runs`` loads of a recording with ``rows`` sleeps and ios."""
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as folder:
        spool = write_spool(Path(folder) / "bench.spool", rows)
        target = Path(folder) / "bench.duckdb"
        result: dict[str, Any] = {"rows": rows, "runs": runs}
        result |= _median([_measure(spool, target) for _ in range(runs)])
        begin = time.perf_counter()
        load_spool(spool, target)
        result["load_all_s"] = round(time.perf_counter() - begin, 3)
        result["store_bytes"] = target.stat().st_size
    peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    result["peak_rss_mib"] = peak_kib // 1024
    return result


def _peak_rss_mib() -> int:
    """Return the peak resident set of this process image; ru_maxrss counts its parent's too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) // 1024


def _clocks() -> tuple[float, float]:
    """Return the wall clock, and the CPU time of this process, in s."""
    return time.perf_counter(), time.process_time()


def analyse(spool_path: Path) -> dict[str, float]:
    """Return the cost of all critical paths and inversions of a spool, without a store."""
    spool = open_spool(spool_path)
    clocks = [_clocks()]
    trace = read_trace(spool)
    clocks.append(_clocks())
    paths = critical_paths(trace.sleeps, trace.ios, trace.requests, len(trace.tasks))
    clocks.append(_clocks())
    inversions = find_inversions(trace, paths, io_causes(trace), request_names(spool.meta))
    clocks.append(_clocks())
    map_s, paths_s, inversions_s = np.diff(clocks, axis=0)[:, 0].round(3).tolist()
    total_s, cpu_s = np.subtract(clocks[-1], clocks[0]).round(3).tolist()
    return {
        "sleeps": len(trace.sleeps),
        "ios": len(trace.ios),
        "requests": len(trace.requests),
        "segments": len(paths.segments),
        "inversions": len(inversions),
        "map_s": map_s,
        "critical_paths_s": paths_s,
        "inversions_s": inversions_s,
        "total_s": total_s,
        "cpu_s": cpu_s,
        "peak_rss_mib": _peak_rss_mib(),
        "load_average": round(os.getloadavg()[0], 1),
    }


def measure_analysis(rows: int) -> dict[str, float]:
    """Return the cost of analysing ``rows`` sleeps and half as many ios, in a separate process."""
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as folder:
        spool = write_spool(Path(folder) / "bench.spool", rows, rows // 2)
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            return pool.apply(analyse, (spool,))


def _growth_text(results: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{result['sleeps']:>11,} sleeps, {result['ios']:,} ios, {result['requests']:,} requests: "
        f"columns {result['map_s']:.1f} s, critical paths {result['critical_paths_s']:.1f} s, "
        f"inversions {result['inversions_s']:.1f} s; {result['total_s']:.1f} s in all, "
        f"{result['cpu_s']:.1f} s of CPU, peak {result['peak_rss_mib']} MiB "
        f"(load average {result['load_average']})"
        for result in results
    )


def _text(results: Sequence[Mapping[str, Any]]) -> str:
    return "\n".join(
        f"{result['rows']:>11,} sleeps and ios, {result['requests']:,.0f} requests: load "
        f"{result['load_rows_per_s'] / 1e6:.1f} M rows/s, critical paths "
        f"{result['critical_paths_s']:.2f} s, inversions {result['inversions_s']:.2f} s, "
        f"everything {result['load_all_s']:.1f} s, peak {result['peak_rss_mib']} MiB"
        for result in results
    )


@click.command()
@click.option(
    "--rows",
    type=click.IntRange(1000),
    default=ROWS,
    show_default=True,
    help="Number of sleeps, and of ios, in the synthetic recording.",
)
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Number of loads; the median is printed.",
)
@click.option(
    "--large",
    is_flag=True,
    help="Also measure the analysis alone with 1, 3 and 10 times the rows.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(rows: int, runs: int, large: bool, as_json: bool) -> None:
    """Measure loading, critical paths and inversions on a synthetic recording."""
    results = [measure(rows, runs)]
    growth = [measure_analysis(rows * times) for times in (1, 3, 10)] if large else []
    if as_json:
        click.echo(
            json.dumps({"host": host_facts(), "results": results, "growth": growth}, indent=1)
        )
    else:
        click.echo("\n".join(filter(None, (_text(results), _growth_text(growth)))))


if __name__ == "__main__":
    main()
