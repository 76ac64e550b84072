"""The page docs/results/gate.md from what ``bench`` found. Pure: results in, Markdown out."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from rcp.analyzer.gate.bench.results import WORKLOADS, Rate, Results
from rcp.analyzer.gate.bench.series import NOISE, SAVES, STEP, STEP_AT, Found

_HEAD = """\
# How often the gate is wrong

Simulated runs, 8 a side (and 8 fresh ones to confirm), made by `make gate-bench`: no figure here is
of hardware. Latencies are log-normal around 1 ms, follow an AR(1) of 0.8, and stalls hold up
requests in a row; a candidate is so many times as slow in everything. Rates are of calling the
candidate *worse*; in brackets the 95 % interval of the rate.

"files": the verdict on files, without fresh runs. "confirmed": as `rcp-trace gate run` does it,
the verdict of 16 runs a side where the first 8 were suspicious.
"""

_FRESH = "How often the first runs were suspicious, so that as many fresh ones were made:"


def _cell(rate: Rate) -> str:
    low, high = rate.interval
    share = rate.alarms / rate.repetitions
    return f"{share:.1%} ({low:.1%}–{high:.1%}, {rate.repetitions})"


def _table(rates: Sequence[Rate]) -> Iterator[str]:
    factors = sorted({rate.factor for rate in rates})
    names = ["unchanged" if factor == 1 else f"{factor - 1:+.0%}" for factor in factors]
    yield "| method | " + " | ".join(names) + " |"
    yield "|---|" + "--:|" * len(factors)
    for method in dict.fromkeys(rate.method for rate in rates):
        by_factor = {rate.factor: rate for rate in rates if rate.method == method}
        cells = [_cell(by_factor[factor]) if factor in by_factor else "–" for factor in factors]
        yield f"| {method} | " + " | ".join(cells) + " |"


def _unclear(rates: Sequence[Rate]) -> Iterator[str]:
    told = [rate for rate in rates if rate.inconclusive and "gate" in rate.method]
    for rate in told:
        what = "unchanged" if rate.factor == 1 else f"{rate.factor - 1:+.0%}"
        share = rate.inconclusive / rate.repetitions
        yield f"* {rate.method}, {what}: inconclusive in {share:.1%}"


def page(results: Results) -> str:
    """Return the page."""
    lines = [_HEAD]
    for name, workload in WORKLOADS.items():
        of = [rate for rate in results.rates if rate.workload == name]
        lines += [f"## {name.capitalize()}", "", f"{workload.told()}.", ""]
        lines += [*_table(of), "", *_unclear(of), ""]
    lines += ["## Fresh runs", "", _FRESH, ""]
    lines += [f"* {name}: {share:.1%}" for name, share in results.more_runs.items()]
    lines += ["", *_series(results.series), "", "## Time", ""]
    lines += ["Judging two runs of a million latencies, median of three:", ""]
    lines += ["| what | wall s | CPU s |", "|---|--:|--:|"]
    lines += [f"| {one.what} | {one.wall_s:.2f} | {one.cpu_s:.2f} |" for one in results.timings]
    host = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    load = f"load average {os.getloadavg()[0]:.1f}"
    lines += ["", f"{host}, numpy {np.__version__}, scipy {scipy.__version__}, {load}.", ""]
    return "\n".join(lines)


def _series(found: Sequence[Found]) -> Iterator[str]:
    yield "## Histories"
    yield ""
    yield (
        f"{SAVES} saves with {NOISE:.0%} between them; a step of {STEP - 1:+.0%} at the "
        f"{STEP_AT}th counts as found within 3 saves of it."
    )
    yield ""
    yield "| method | series | changes told without one | steps found |"
    yield "|---|--:|--:|--:|"
    for one in found:
        shares = f"{one.false / one.series:.1%} | {one.found / one.series:.1%}"
        yield f"| {one.method} | {one.series} | {shares} |"
