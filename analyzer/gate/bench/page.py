"""The page docs/results/gate.md. Pure: results of ``rates`` in, Markdown out."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy

from rcp.analyzer.gate.bench.results import MANY, METHODS, PeerRate, Rate, Results, Verdicts
from rcp.analyzer.gate.bench.scenarios import DESCRIPTIONS, DRIFT, FAMILY, SINGLE
from rcp.analyzer.gate.bench.series import NOISE, SAVES, STEP, STEP_AT, Detected
from rcp.probes.contract.percent import percent

_HEAD = """\
# Error rates of the gate

Simulated runs, made by `make gate-bench`: no figure here is of hardware. Latencies lie around 1 ms
and follow an AR(1) process with coefficient 0.8. A run has 50,000 requests unless the row says
otherwise. Each row names the service and the standard deviation between runs:

{services}

"Drift" adds a trend of {drift} per run, up or down, and a random walk with steps of {drift}.
"Pace of the machine seen": what `gate run` measures beside each run goes with the difference
between runs, with a correlation of 0.9. "Subtracted": recordings know for 90 % of each burst that a
task of no role caused it, and `--without-others` takes it away. The gate is used in four ways:

{methods}

Each cell is the share of comparisons. "gate run" is all of it, with its 8 to 16 runs: no figure
rests on a second try.
"""

_ALARMS = """\
## Unchanged programs

How often the gate calls an unchanged program worse, for the limits `{limits}`
together. In brackets: how often it is inconclusive. {n} comparisons per cell; the last column is
the highest upper end of the 95 % intervals of the row's alarms.
"""

_SINGLE = """\
## Unchanged programs, one limit

As above, with one limit at a time: how often the gate calls an unchanged program worse, over all
levels of noise together, with the 95 % interval. {n} comparisons per cell.
"""

_UNCLEAR = """
How often it is inconclusive at each level of noise, and the runs a side that `gate run` takes. {n}
comparisons per cell:
"""

_POWER = """\
## Programs that are 20 % slower

How often the gate calls a program worse whose latencies are all 20 % longer, with one limit at a
time, so that nothing but the figure itself can tell. In brackets: how often it is inconclusive.
{n} comparisons per cell.

A quantile tells 20 % if enough *independent* events lie beyond it. Ten stalls that delay a hundred
requests each are ten events, not a thousand. `tail99` and `tail95` are the means of the slowest 1 %
and 5 % of requests: more of these are no stall's, so they differ less between runs.
"""

_APART = """\
## What the test does not hold

If all runs of the baseline are made before those of the candidate, no test can tell drift of the
machine from a change of the program. Unchanged programs, 8 files a side, the baseline first, drift
of {drift} per run and as large a random walk:
"""

_MORE_RUNS = """\
## More runs

`rcp-trace gate run --max-runs {most}` with one limit: it adds runs until it knows. In brackets: how
often it is still inconclusive.
"""

_LONGER_STALLS = """\
## Programs whose stalls alone are longer

How often `gate run` calls a program worse whose stalls are longer, and nothing else, with its 8 to
16 runs. In brackets: how often it is inconclusive. {n} comparisons per cell. The growth is that of
the limited figure, computed from the simulated runs: a tail holds ordinary slow requests too, so it
grows less than a quantile that stalls make. Growth within the limit is no regression.
"""

_FIRST_USER = """\
## Cases of a first user

Unchanged programs, and programs whose requests beyond the p95 take longer. The growth of the
limited quantile is computed from the simulated runs.
"""


def _cell(one: Verdicts) -> str:
    return f"{percent(one.worse.share)} ({percent(one.inconclusive.share)})"


def _by_scenario(found: Sequence[Verdicts]) -> dict[str, dict[str, Verdicts]]:
    rows: dict[str, dict[str, Verdicts]] = {}
    for one in found:
        rows.setdefault(one.scenario, {})[one.method] = one
    return rows


def _header(first: Sequence[str], last: Sequence[str] = ()) -> Iterator[str]:
    names = [*first, *METHODS, *last]
    yield "| " + " | ".join(names) + " |"
    yield "|" + "---|" * len(first) + "--:|" * (len(names) - len(first))


def _alarms(results: Results) -> Iterator[str]:
    found = [o for o in results.verdicts if o.change == "unchanged" and o.limits == FAMILY]
    yield _ALARMS.format(limits=FAMILY, n=f"{found[0].comparisons:,}")
    yield from _header(["noise"], ["at most"])
    for name, row in _by_scenario(found).items():
        bound = max(one.worse.interval[1] for one in row.values())
        cells = [_cell(row[method]) for method in METHODS]
        yield f"| {name} | " + " | ".join([*cells, percent(bound)]) + " |"


def _pooled(results: Results) -> Iterator[str]:
    found = [o for o in results.verdicts if o.change == "unchanged" and o.limits in SINGLE]
    cells = {
        (limit, method): [o for o in found if (o.limits, o.method) == (limit, method)]
        for limit in SINGLE
        for method in METHODS
    }
    n = sum(one.comparisons for one in cells[SINGLE[0], "gate run"])
    yield _SINGLE.format(n=f"{n:,}")
    yield from _header(["limit"])
    for limit in SINGLE:
        rates = [
            Rate(sum(o.regressions for o in of), sum(o.comparisons for o in of))
            for of in (cells[limit, method] for method in METHODS)
        ]
        yield f"| {limit} | " + " | ".join(map(_with_interval, rates)) + " |"
    yield _UNCLEAR.format(n=_n(results, "unchanged"))
    yield from _singles(results, "unchanged", lambda one: percent(one.inconclusive.share))


def _singles(results: Results, change: str, cell: Callable[[Verdicts], str]) -> Iterator[str]:
    yield from _header(["noise", "limit"], ["runs of gate run"])
    found = [o for o in results.verdicts if o.change == change and o.limits in SINGLE]
    for name in dict.fromkeys(one.scenario for one in found):
        for limit in SINGLE:
            row = {o.method: o for o in found if o.scenario == name and o.limits == limit}
            cells = [cell(row[method]) for method in METHODS]
            last = row["gate run"]
            runs = f"{last.runs / last.comparisons:.1f}"
            yield f"| {name} | {limit} | " + " | ".join([*cells, runs]) + " |"


def _n(results: Results, change: str) -> str:
    one = next(o for o in results.verdicts if o.change == change and o.limits in SINGLE)
    return f"{one.comparisons:,}"


def _first_user(results: Results) -> Iterator[str]:
    yield _FIRST_USER
    yield from _header(["runs and limits", "change", "growth"])
    for name in dict.fromkeys(one.scenario for one in results.first_user):
        of_name = [one for one in results.first_user if one.scenario == name]
        for change in dict.fromkeys(one.change for one in of_name):
            row = {one.method: one for one in of_name if one.change == change}
            growth = results.growth(row["gate run"])
            cells = [_cell(row[method]) for method in METHODS]
            shown = percent(growth, sign=True) if growth else "none"
            yield f"| {name} | {change} | {shown} | " + " | ".join(cells) + " |"


def _more_runs(results: Results) -> Iterator[str]:
    yield _MORE_RUNS.format(most=MANY)
    yield "| noise | limit | candidate | comparisons | called worse | runs a side |"
    yield "|---|---|---|--:|--:|--:|"
    for one in results.more_runs:
        runs, of = f"{one.runs / one.comparisons:.1f}", f"{one.scenario} | {one.limits}"
        yield f"| {of} | {one.change} | {one.comparisons} | {_cell(one)} | {runs} |"


def _longer_stalls(results: Results) -> Iterator[str]:
    found = results.longer_stalls
    yield _LONGER_STALLS.format(n=found[0].comparisons if found else 0)
    changes = list(dict.fromkeys(one.change for one in found))
    names = [name for change in changes for name in (f"{change}: growth", "called worse")]
    yield "| noise | limit | " + " | ".join(names) + " |"
    yield "|---|---|" + "--:|" * len(names)
    rows = dict.fromkeys((one.scenario, one.limits) for one in found)
    for name, limit in rows:
        cells = []
        for one in (o for o in found if (o.scenario, o.limits) == (name, limit)):
            cells += [percent(results.growth(one), sign=True), _cell(one)]
        yield f"| {name} | {limit} | " + " | ".join(cells) + " |"


def _apart(results: Results) -> Iterator[str]:
    yield _APART.format(drift=percent(DRIFT, 0))
    yield "| noise | called worse (inconclusive) |"
    yield "|---|--:|"
    for one in results.apart:
        yield f"| {one.scenario} | {_cell(one)} |"


def _with_interval(rate: Rate) -> str:
    low, high = rate.interval
    return f"{percent(rate.share)} ({percent(low)} – {percent(high)})"


def _peers(found: Sequence[PeerRate]) -> Iterator[str]:
    yield "## Other tests"
    yield ""
    yield (
        "8 runs a side of 20,000 requests, 15 stalls that delay 4 requests each, a standard "
        "deviation of 5 % between runs: how often tests that other tools use call the candidate "
        f"worse, with the 95 % interval. {found[0].rate.of} comparisons per cell."
    )
    yield ""
    changes = list(dict.fromkeys(one.change for one in found))
    yield "| method | " + " | ".join(changes) + " |"
    yield "|---|" + "--:|" * len(changes)
    for method in dict.fromkeys(one.method for one in found):
        cells = [_with_interval(one.rate) for one in found if one.method == method]
        yield f"| {method} | " + " | ".join(cells) + " |"


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


def _times(results: Results) -> Iterator[str]:
    yield "## Time"
    yield ""
    yield "Time to judge two runs of a million latencies, median of three:"
    yield ""
    yield "| what | wall s | CPU s |"
    yield "|---|--:|--:|"
    yield from (f"| {one.what} | {one.wall_s:.2f} | {one.cpu_s:.2f} |" for one in results.timings)
    host = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    load = f"load average {os.getloadavg()[0]:.1f}"
    yield ""
    yield f"{host}, numpy {np.__version__}, scipy {scipy.__version__}, {load}."


def page(results: Results) -> str:
    """Return the page."""
    services = "\n".join(f"* {name}: {text}" for name, text in DESCRIPTIONS.items())
    methods = "\n".join(f"* {name}: {text}" for name, text in METHODS.items())
    head = _HEAD.format(services=services, methods=methods, drift=percent(DRIFT, 0))
    parts = [
        [head],
        _alarms(results),
        [""],
        [_POWER.format(n=_n(results, "+20 %"))],
        _singles(results, "+20 %", _cell),
        [""],
        _pooled(results),
        [""],
        _more_runs(results),
        [""],
        _longer_stalls(results),
        [""],
        _first_user(results),
        [""],
        _apart(results),
        [""],
        _peers(results.peers),
        [""],
        _series(results.series),
        [""],
        _times(results),
    ]
    lines = [line for part in parts for line in part]
    return "\n".join(lines) + "\n"
