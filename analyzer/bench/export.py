"""Compares rcp's critical paths with Perfetto's on one recording: time and results.

    python -m rcp.analyzer.bench.export [--slowest N] [--json]

The recording is the one in fixtures/recordings. Perfetto reads what ``rcp-trace export`` writes.
It runs as WebAssembly, which is slower than its native build. Its function takes one request at a
time, so it computes only the slowest N. rcp computes all requests at once, and those N alone.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np

from rcp.analyzer.arrays.trace import Requests, Trace
from rcp.analyzer.bench.analysis import host_facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store, open_store
from rcp.analyzer.export.perfetto import write_perfetto
from rcp.analyzer.loading.load import load_spool, read_trace
from rcp.analyzer.paths.critical_path import critical_paths
from rcp.analyzer.selection import Wanted, select
from rcp.fixtures.trace_processor import TraceProcessor
from rcp.probes.contract.percent import percent
from rcp.probes.contract.spool import open_spool, unpack

BENCH_RECORDING = Path(__file__).parents[2] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"

_MODULE = "INCLUDE PERFETTO MODULE sched.thread_executing_span"


T = TypeVar("T")


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    begin = time.perf_counter()
    result = work()
    return result, round(time.perf_counter() - begin, 4)


def _only(requests: Requests, ids: list[int]) -> Requests:
    at = np.array(ids) - 1
    return Requests(
        **{
            name: values[at] if isinstance(values, np.ndarray) else values
            for name, values in vars(requests).items()
        }
    )


def _measure_rcp(trace: Trace, ids: list[int]) -> dict[str, float]:
    n_tasks = len(trace.tasks)
    chosen = _only(trace.requests, ids)
    _, all_s = _timed(lambda: critical_paths(trace.sleeps, trace.ios, trace.requests, n_tasks))
    _, chosen_s = _timed(lambda: critical_paths(trace.sleeps, trace.ios, chosen, n_tasks))
    return {"all_requests_s": all_s, "n_requests": len(trace.requests), "slowest_s": chosen_s}


def _measure_perfetto(store: Store, target: Path, ids: list[int], culprit: str) -> dict[str, Any]:
    perfetto, load_s = _timed(lambda: TraceProcessor(target))
    with perfetto:
        _, include_s = _timed(lambda: perfetto.query(_MODULE))
        rows = store.query(query("export/slowest"), [ids])
        shares, seconds = [], []
        for _, tid, ts, dur, held_up_ns in rows:
            sql = query("export/perfetto_path").format(tid=tid, ts=ts, dur=dur, comm=culprit)
            (row,), query_s = _timed(partial(perfetto.query, sql))
            seconds.append(query_s)
            shares.append((row["ns"] / dur, held_up_ns / dur))
    return {
        "load_s": load_s,
        "include_s": include_s,
        "slowest_s": round(sum(seconds), 4),
        "culprit": culprit,
        "mean_share_of_culprits_thread": round(float(np.mean([s[0] for s in shares])), 3),
        "mean_share_held_up_ours": round(float(np.mean([s[1] for s in shares])), 3),
    }


def measure(spool: Path, slowest: int) -> dict[str, Any]:
    """Return the times and results of both for the slowest requests of a spool."""
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as name:
        folder = Path(name)
        _, load_s = _timed(lambda: load_spool(spool, folder / "x.duckdb"))
        trace = read_trace(open_spool(spool))
        target = folder / "x.pftrace"
        with open_store(folder / "x.duckdb") as store:
            ids = list(select(store, Wanted(slowest=slowest)).request_ids)
            with target.open("wb") as out:
                _, export_s = _timed(lambda: write_perfetto(store, select(store), out))
            ((culprit,),) = store.query("SELECT culprit FROM inversion_pattern WHERE rank = 1")
            return {
                "recording": spool.name,
                "n_slowest": len(ids),
                "export": {"s": export_s, "bytes": target.stat().st_size},
                "rcp": {"load_s": load_s, **_measure_rcp(trace, ids)},
                "perfetto": _measure_perfetto(store, target, ids, str(culprit)),
            }


def _text(result: dict[str, Any]) -> str:
    rcp, perfetto, n = result["rcp"], result["perfetto"], result["n_slowest"]
    return (
        f"{result['recording']}, slowest {n} requests\n"
        f"  rcp       load {rcp['load_s']:.2f} s, critical paths {rcp['slowest_s']:.3f} s "
        f"(all {rcp['n_requests']}: {rcp['all_requests_s']:.3f} s); "
        f"{percent(perfetto['mean_share_held_up_ours'], 0)} held up\n"
        f"  Perfetto  load {perfetto['load_s']:.2f} s, critical paths "
        f"{perfetto['include_s'] + perfetto['slowest_s']:.3f} s; "
        f"{percent(perfetto['mean_share_of_culprits_thread'], 0)} on {perfetto['culprit']}\n"
        f"  export    {result['export']['s']:.2f} s, {result['export']['bytes'] / 1e6:.1f} MB"
    )


@click.command()
@click.option(
    "--slowest",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Number of requests for Perfetto.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(slowest: int, as_json: bool) -> None:
    """Measure the export, and critical paths by rcp and by Perfetto."""
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as folder:
        result = measure(unpack(BENCH_RECORDING, Path(folder)), slowest)
    result["recording"] = BENCH_RECORDING.name
    click.echo(json.dumps({"host": host_facts(), **result}, indent=1) if as_json else _text(result))


if __name__ == "__main__":
    main()
