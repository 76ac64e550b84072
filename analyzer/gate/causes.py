"""What the requests at a quantile waited for: where a change of that quantile comes from.

A quantile is one request's latency, and the next slower one may have waited for something else. So
the requests around it are taken, as many as half of those beyond it on each side: their mean
latency moves as the quantile does, and what they waited for adds up to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.compare.by_kind import Found, Load
from rcp.analyzer.compare.diff import Change, changes
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import PARTS, rank
from rcp.analyzer.latencies.recording import REQUESTS

TOP = 3

LEAST_REQUESTS = 10
"""Around the quantile, where there are as many: what fewer waited for is chance."""

SORTS = ("reason", "culprit", "pattern")


class Window(NamedTuple):
    """The requests around a quantile, and their time by what they waited for."""

    n: int
    total_ns: int
    reason: dict[str, Found]
    culprit: dict[str, Found]
    pattern: dict[str, Found]


class Grown(NamedTuple):
    """One cause of a change: *share* of the change of the mean latency around the quantile."""

    sort: str
    """``reason``, ``culprit`` or ``pattern``."""
    change: Change
    share: float


Windows = Callable[[str, float], Window | None]
"""By kind ("" for all) and quantile; None where a run was not recorded."""

_WINDOW = f"""
    CREATE OR REPLACE TEMP TABLE _window AS
    WITH numbered AS (
        SELECT request_id, dur, row_number() OVER (ORDER BY dur, request_id) AS place
        FROM ({REQUESTS}) AS judged
        WHERE if($1 = '', is_outermost, judged.name = $1)
    )
    SELECT request_id, dur FROM numbered WHERE place BETWEEN $2 AND $3
"""
_N = f"SELECT count(*) FROM ({REQUESTS}) AS judged WHERE if($1 = '', is_outermost, name = $1)"
_SUM = "SELECT count(*), coalesce(sum(dur), 0)::BIGINT FROM _window"


def _places(n: int, share: float) -> tuple[int, int]:
    """Return the first and the last rank around a quantile of *n* requests."""
    middle = rank(share, n)
    beyond = n - round(share * PARTS) * n // PARTS
    half = max(beyond // 2, LEAST_REQUESTS // 2)
    return max(1, middle - half), min(n, middle + half)


def window(store: Store, kind: str, share: float) -> Window:
    """Return the requests of a recording around a quantile."""
    ((n,),) = store.query(_N, [kind])
    store.write(_WINDOW, [kind, *_places(n, share)])
    ((chosen, total_ns),) = store.query(_SUM)
    found = [
        {what: Found(count, dur) for what, count, dur in store.query(sql)}
        for sql in (query("gate/reasons"), query("gate/culprits"), query("gate/patterns"))
    ]
    return Window(chosen, total_ns, *found)


def together(windows: Iterable[Window]) -> Window:
    """Return the windows of several runs as one."""
    windows = list(windows)
    found: list[dict[str, Found]] = []
    for sort in SORTS:
        sums: dict[str, Found] = {}
        for what, of in ((w, f) for one in windows for w, f in getattr(one, sort).items()):
            before = sums.get(what, Found(0, 0))
            sums[what] = Found(before.n + of.n, before.dur_ns + of.dur_ns)
        found.append(sums)
    n, total_ns = sum(one.n for one in windows), sum(one.total_ns for one in windows)
    return Window(n, total_ns, *found)


def grown(a: Window, b: Window) -> list[Grown]:
    """Return what grew most from *a* to *b*, three of each sort; nothing when nothing is known."""
    if not a.n or not b.n or not (a.reason and b.reason):
        return []
    change_ns = b.total_ns / b.n - a.total_ns / a.n
    if change_ns <= 0:
        return []
    loads = (Load(a.n, 0.0, a.total_ns, 0), Load(b.n, 0.0, b.total_ns, 0))
    found = []
    for sort in SORTS:
        told: Sequence[Change] = changes(getattr(a, sort), getattr(b, sort), loads)
        more = [change for change in told if change.delta_ns > 0][:TOP]
        found += [Grown(sort, change, change.delta_ns / change_ns) for change in more]
    return found


def as_object(one: Window) -> dict[str, object]:
    """Return a window as JSON has it."""
    return {
        "n": one.n,
        "total_ns": one.total_ns,
        **{sort: {what: list(of) for what, of in getattr(one, sort).items()} for sort in SORTS},
    }


def from_object(told: Mapping[str, object]) -> Window:
    """Return what ``as_object`` made *told* of."""
    n, total_ns = told["n"], told["total_ns"]
    assert isinstance(n, int)
    assert isinstance(total_ns, int)
    found: list[dict[str, Found]] = []
    for sort in SORTS:
        of = told[sort]
        assert isinstance(of, dict)
        found.append({what: Found(*counts) for what, counts in of.items()})
    return Window(n, total_ns, *found)
