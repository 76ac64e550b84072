"""The page docs/results/gate.md. Pure: results of ``rates`` in, Markdown out."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator, Sequence

import numpy as np
import scipy

from rcp.analyzer.gate.bench.results import WORKLOADS, Rate, Results
from rcp.analyzer.gate.bench.series import NOISE, SAVES, STEP, STEP_AT, Detected
from rcp.probes.contract.percent import percent

_HEAD = """\
# Error rates of the gate

Simulated runs, 8 a side (and 8 fresh ones to confirm), made by `make gate-bench`: no figure here is
of hardware. Latencies are log-normal around 1 ms and follow an AR(1) process with coefficient 0.8;
stalls delay several requests in a row. The column is the candidate's slowdown. Each cell is the
share of comparisons that call the candidate *worse*, with its 95 % interval and the number of
comparisons in brackets.

"files" is the verdict on files, without fresh runs. "confirmed" is the verdict of
`rcp-trace gate run`: 16 runs a side if the first 8 were suspicious.
"""

_FRESH = (
    "Share of comparisons whose first runs were suspicious, so that as many fresh runs were made:"
)


def _cell(rate: Rate) -> str:
    low, high = rate.interval
    share = rate.alarms / rate.repetitions
    return f"{percent(share)} ({percent(low)} – {percent(high)}, {rate.repetitions})"


def _table(rates: Sequence[Rate]) -> Iterator[str]:
    factors = sorted({rate.factor for rate in rates})
    names = [
        "unchanged" if factor == 1 else percent(factor - 1, 0, sign=True) for factor in factors
    ]
    yield "| method | " + " | ".join(names) + " |"
    yield "|---|" + "--:|" * len(factors)
    for method in dict.fromkeys(rate.method for rate in rates):
        by_factor = {rate.factor: rate for rate in rates if rate.method == method}
        cells = [_cell(by_factor[factor]) if factor in by_factor else "–" for factor in factors]
        yield f"| {method} | " + " | ".join(cells) + " |"


def _unclear(rates: Sequence[Rate]) -> Iterator[str]:
    for rate in (rate for rate in rates if rate.inconclusive and "gate" in rate.method):
        what = "unchanged" if rate.factor == 1 else percent(rate.factor - 1, 0, sign=True)
        share = rate.inconclusive / rate.repetitions
        yield f"* {rate.method}, {what}: inconclusive in {percent(share)}"


def page(results: Results) -> str:
    """Return the page."""
    lines = [_HEAD]
    for name, workload in WORKLOADS.items():
        of = [rate for rate in results.rates if rate.workload == name]
        lines += [f"## {name.capitalize()}", "", f"{workload.description()}.", ""]
        lines += [*_table(of), "", *_unclear(of), ""]
    lines += ["## Fresh runs", "", _FRESH, ""]
    lines += [f"* {name}: {percent(share)}" for name, share in results.more_runs.items()]
    lines += ["", *_series(results.series), "", "## Time", ""]
    lines += ["Time to judge two runs of a million latencies, median of three:", ""]
    lines += ["| what | wall s | CPU s |", "|---|--:|--:|"]
    lines += [f"| {one.what} | {one.wall_s:.2f} | {one.cpu_s:.2f} |" for one in results.timings]
    host = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    load = f"load average {os.getloadavg()[0]:.1f}"
    lines += ["", f"{host}, numpy {np.__version__}, scipy {scipy.__version__}, {load}.", ""]
    return "\n".join(lines)


def _series(found: Sequence[Detected]) -> Iterator[str]:
    yield "## Histories"
    yield ""
    yield (
        f"Histories of {SAVES} saves with a standard deviation of {percent(NOISE, 0)} between "
        f"them. A step of {percent(STEP - 1, 0, sign=True)} at save {STEP_AT} counts as detected "
        "within 3 saves."
    )
    yield ""
    yield "| method | series | false alarms without a step | steps detected |"
    yield "|---|--:|--:|--:|"
    for one in found:
        shares = f"{percent(one.false / one.series)} | {percent(one.detected / one.series)}"
        yield f"| {one.method} | {one.series} | {shares} |"
