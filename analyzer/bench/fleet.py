"""Measures a fleet's report: a day of summaries of many hosts, made from real recordings.

    python -m rcp.analyzer.bench.fleet [--hosts N] [--keep DIR]

A host's requests are drawn with replacement from a checked-in recording, with their waits and
culprits, and all its times are multiplied by a factor of its own. So every latency is known: sums
must be equal, and quantiles are compared with exact ones of all requests together.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import numpy.typing as npt

from rcp.analyzer.bench.analysis import host_facts
from rcp.analyzer.fleet.header import SummaryHeader
from rcp.analyzer.fleet.histogram import bounds
from rcp.analyzer.fleet.layout import place_of
from rcp.analyzer.fleet.summary import header_of, make_entries, write_summary
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.loading.opening import open_recording
from rcp.probes.contract.printing.output import print_text

RECORDINGS = Path(__file__).parents[2] / "fixtures/recordings"
BASES = ("wal-vs-checkpoint", "wal-alone")
KERNELS = ("6.12.57", "6.12.63", "6.12.74", "6.18.2")
WANTED_S, WANTED_MIB, WANTED_ERROR = 10, 1024, 0.006
SHARES_MEASURED = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999}
N_REPORTS = 3

_KEYS = ("part", "kind", "role", "is_outermost", "reason", "culprit", "culprit_role", "pattern")

Array = npt.NDArray[Any]


class Base(NamedTuple):
    """A recording: what each of its requests adds to each row, whatever its bucket."""

    header: SummaryHeader
    keys: dict[str, Array]
    """Rows without buckets, by column."""
    begin: Array
    """First entry of each request, and the end."""
    key: Array
    """Row of each entry."""
    blocked_ns: Array
    is_delayed: Array
    dur_ns: Array
    """By request."""


_IDS = """
    SELECT request_id, dur FROM request JOIN task USING (utid)
    WHERE role = 'foreground' AND dur IS NOT NULL ORDER BY request_id
"""
_ENTRIES = f"""
    SELECT {", ".join(_KEYS)}, request_id, is_blocked, blocked FROM entry
    WHERE role = 'foreground' ORDER BY ALL
"""


@cache
def base(name: str) -> Base:
    """Return a checked-in recording as entries of its foreground requests."""
    with open_recording(RECORDINGS / f"{name}.spool.tar.xz") as store:
        header = header_of(store)
        make_entries(store)
        ids, durs = zip(*store.query(_IDS), strict=True)
        rows = store.arrays(_ENTRIES)
    place = {request_id: at for at, request_id in enumerate(ids)}
    joined = ["\0".join(map(str, row)) for row in zip(*(rows[k] for k in _KEYS), strict=True)]
    _, first, key = np.unique(joined, return_index=True, return_inverse=True)
    order = np.argsort([place[request_id] for request_id in rows["request_id"]], kind="stable")
    request = np.array([place[request_id] for request_id in rows["request_id"]])[order]
    return Base(
        header,
        {name: rows[name][first] for name in _KEYS},
        np.searchsorted(request, np.arange(len(ids) + 1)),
        key[order],
        rows["blocked"].astype(np.int64)[order],
        rows["is_blocked"].astype(bool)[order],
        np.array(durs, np.int64),
    )


def _drawn(one: Base, seed: int) -> tuple[Array, Array, float]:
    """Return the requests of a host, the entries of each, and the factor of its times."""
    random = np.random.default_rng(seed)
    chosen = random.integers(0, len(one.dur_ns), len(one.dur_ns))
    factor = float(np.exp(random.normal(0, 0.2)))
    counts = np.diff(one.begin)[chosen]
    ends = np.cumsum(counts)
    within = np.arange(ends[-1]) - np.repeat(ends - counts, counts)
    return chosen, np.repeat(one.begin[chosen], counts) + within, factor


def host_rows(one: Base, seed: int) -> tuple[dict[str, Array], Array]:
    """Return the rows of a host's summary, and its latencies in ns."""
    chosen, entries, factor = _drawn(one, seed)
    durs_ns = np.maximum(np.rint(one.dur_ns[chosen] * factor), 1).astype(np.int64)
    counts = np.diff(one.begin)[chosen]
    dur_ns = np.repeat(durs_ns, counts)
    key = one.key[entries]
    is_request = (one.keys["part"] == "request")[key]
    blocked_ns = np.rint(one.blocked_ns[entries] * factor).astype(np.int64)
    blocked_ns = np.minimum(blocked_ns, dur_ns)
    upper, buckets = (np.array(values) for values in bounds())
    bucket = buckets[np.searchsorted(upper, dur_ns)]
    # One number for row and bucket; part, the first of the keys, is put in order by the writer.
    _, first, place = np.unique(key * 10_000 + bucket + 1, return_index=True, return_inverse=True)
    n_rows = len(first)

    def summed(values: Array) -> Array:
        return np.bincount(place, values, n_rows).astype(np.int64)

    longest = np.where(is_request, dur_ns, blocked_ns)
    max_ns = np.zeros(n_rows, np.int64)
    np.maximum.at(max_ns, place, longest)
    rows = {name: values[key[first]] for name, values in one.keys.items()}
    rows |= {"bucket": bucket[first], "max_ns": max_ns}
    rows |= {"n": summed(np.ones(len(key))), "n_blocked": summed(one.is_delayed[entries])}
    rows |= {"dur_ns": summed(dur_ns), "blocked_ns": summed(blocked_ns)}
    return rows, durs_ns


class Made(NamedTuple):
    """What some hosts have, in sum."""

    n: int
    dur_ns: int
    blocked_ns: int
    n_bytes: int
    durs_ns: Array


def make_hosts(folder: Path, numbers: Sequence[int]) -> Made:
    """Write the summaries of hosts of these numbers."""
    found: list[Array] = []
    blocked_ns = n_bytes = 0
    for number in numbers:
        one = base(BASES[number % 2])  # every other host has a checkpointer
        rows, durs_ns = host_rows(one, number)
        host = f"db{number:05}"
        header = replace(
            one.header,
            recording=sha256(host.encode()).hexdigest(),
            host=host,
            kernel=KERNELS[number % len(KERNELS)],
        )
        target = folder / place_of(header)
        target.parent.mkdir(parents=True)
        write_summary(header, rows, target)
        n_bytes += target.stat().st_size
        blocked_ns += int(rows["blocked_ns"][rows["part"] == "request"].sum())
        found.append(durs_ns)
    durs_ns = np.concatenate(found)
    return Made(len(durs_ns), int(durs_ns.sum()), blocked_ns, n_bytes, durs_ns)


def make_fleet(folder: Path, n_hosts: int) -> Made:
    """Write the summaries of a fleet, by as many processes as there are CPUs."""
    n = os.cpu_count() or 1
    parts = [range(at, n_hosts, n) for at in range(n)]
    with ProcessPoolExecutor(n) as pool:
        made = list(pool.map(make_hosts, [folder] * n, parts))
    (folder / "hosts.txt").write_text("".join(f"db{at:05}\n" for at in range(n_hosts)))
    durs_ns = np.concatenate([one.durs_ns for one in made])
    blocked_ns, n_bytes = sum(one.blocked_ns for one in made), sum(one.n_bytes for one in made)
    return Made(len(durs_ns), int(durs_ns.sum()), blocked_ns, n_bytes, durs_ns)


class ReportRun(NamedTuple):
    """One run of the report."""

    wall_s: float
    cpu_s: float
    peak_mib: float
    report: Mapping[str, Any]


_TELLING_PEAK = """
import atexit, re, sys, time

def tell():
    # Not getrusage: its peak begins with that of the process which started this one.
    peak = re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]
    print(peak, time.process_time(), file=sys.stderr)

atexit.register(tell)
from rcp.analyzer.__main__ import main
main()
"""
"""Runs rcp-trace and tells its peak of memory in KiB and its CPU time in s."""


def run_report(folder: Path) -> ReportRun:
    """ReportRun the command as a user does, in a process of its own."""
    words = [sys.executable, "-c", _TELLING_PEAK, "fleet", "report", str(folder)]
    begin = time.perf_counter()
    with subprocess.Popen(
        [*words, "--hosts", str(folder / "hosts.txt"), "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        text, told = process.communicate()
    wall_s = time.perf_counter() - begin
    if process.returncode:
        raise SystemExit(f"rcp-trace fleet report ended with {process.returncode}: {told}")
    peak_kib, cpu_s = told.split()[-2:]
    return ReportRun(wall_s, float(cpu_s), int(peak_kib) / 1024, json.loads(text))


def errors(made: Made, report: Mapping[str, Any]) -> dict[str, float]:
    """Return how far each quantile is from the exact one, as a share of it."""
    (row,) = (one for one in report["requests"] if one["role"] == "foreground")
    return {
        name: abs(row["quantiles_ns"][name] / quantile_ns(made.durs_ns, share) - 1)
        for name, share in SHARES_MEASURED.items()
    }


def is_exact(made: Made, report: Mapping[str, Any]) -> bool:
    """Tell whether the report's sums are those of the hosts."""
    total = report["total"]
    sums = (total["n"], total["dur_ns"], total["blocked_ns"])
    longest = max(one["quantiles_ns"]["max"] for one in report["requests"])
    return sums == (made.n, made.dur_ns, made.blocked_ns) and longest == made.durs_ns.max()


def page(made: Made, runs: Sequence[ReportRun], n_hosts: int) -> str:
    """Return the page of results."""
    facts, worst = host_facts(), errors(made, runs[0].report)
    wall_s, peak = min(run.wall_s for run in runs), max(run.peak_mib for run in runs)
    told = ", ".join(f"{run.wall_s:.1f} s" for run in runs)
    lines = [
        "# What a fleet's report costs",
        "",
        "    make fleet-bench",
        "",
        f"makes a day of summaries of {n_hosts} hosts from two checked-in recordings, one with a",
        "checkpointer and one without. The requests of each host are drawn with replacement, with",
        "their waits and culprits, and its times multiplied by a factor of its own. Then it runs",
        "`rcp-trace fleet report` on them, the files in the page cache.",
        "",
        "| | wanted | measured |",
        "|---|---|---|",
        f"| wall time, best of {len(runs)} | {WANTED_S} s | {wall_s:.1f} s ({told}) |",
        f"| CPU time | | {min(run.cpu_s for run in runs):.1f} s |",
        f"| memory at most | {WANTED_MIB} MiB | {peak:.0f} MiB |",
        f"| counts and times equal to the hosts' sums | yes | "
        f"{'yes' if is_exact(made, runs[0].report) else 'NO'} |",
        *(
            f"| {name} beside the exact one | {WANTED_ERROR:.1%} | {error:.2%} |"
            for name, error in worst.items()
        ),
        f"| summaries | | {n_hosts} files, {made.n_bytes / 1e6:.0f} MB |",
        f"| requests | | {made.n / 1e6:.1f} million |",
        "",
        f"On {facts['n_cores']} cores, Python {facts['python']}, load average "
        f"{facts['load_average']} at the end.",
    ]
    return "\n".join(lines).replace("%", " %") + "\n"


@click.command()
@click.option("--hosts", "n_hosts", type=click.IntRange(1), default=10_000, help="Hosts.")
@click.option("--keep", type=click.Path(path_type=Path), help="Keep the summaries in this folder.")
def main(n_hosts: int, keep: Path | None) -> None:
    """Measure a fleet's report; print a page of Markdown."""
    with tempfile.TemporaryDirectory(prefix="rcp-fleet-bench-") as temporary:
        folder = keep or Path(temporary)
        made = make_fleet(folder, n_hosts)
        runs = [run_report(folder) for _ in range(N_REPORTS)]
        print_text(page(made, runs, n_hosts))


if __name__ == "__main__":
    main()
