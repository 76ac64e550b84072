"""What the requests around a quantile waited for, and so why the quantile changed.

A quantile is the latency of one request, and the next slower one may have waited for something
else. So this module takes a window of requests around the quantile: on each side half as many as
lie beyond it. The mean latency of the window moves with the quantile, and the window's waits add up
to that mean. The window of a tail is the tail, and its mean is the very figure that is judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.compare.by_kind import Load, Tally
from rcp.analyzer.compare.diff import Change, changes
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import PARTS, n_in_tail, rank
from rcp.analyzer.latencies.recording import REQUESTS

TOP = 3

LEAST_REQUESTS = 10
"""Fewest requests in a window, if the run has so many: the waits of fewer are chance."""

GROUPINGS = ("reason", "culprit", "pattern")
"""The ways a window's time is grouped; also field names of ``Window``."""


class Window(NamedTuple):
    """The requests around a quantile, and their wait time in each grouping."""

    n: int
    total_ns: int
    reason: dict[str, Tally]
    culprit: dict[str, Tally]
    pattern: dict[str, Tally]


class Cause(NamedTuple):
    """One cause of a change: *share* is its part of the change of the window's mean latency."""

    by: str
    """One of ``GROUPINGS``."""
    change: Change
    share: float


class Around(NamedTuple):
    """What a window is asked around."""

    kind: str
    """Of requests; "" for all."""
    share: float
    """The quantile."""
    is_tail: bool = False
    """Whether the tail beyond the quantile is meant."""


Windows = Callable[[Sequence[Around]], Sequence[Window | None]]
"""Returns the windows that are asked for, each None if the run was not recorded."""

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


def places(n: int, share: float, is_tail: bool = False) -> tuple[int, int]:
    """Return the first and the last rank of the window around a quantile of *n* requests."""
    if is_tail:
        return n - n_in_tail(share, n) + 1, n
    middle = rank(share, n)
    beyond = n - round(share * PARTS) * n // PARTS
    half = max(beyond // 2, LEAST_REQUESTS // 2)
    return max(1, middle - half), min(n, middle + half)


def window(store: Store, around: Around) -> Window:
    """Return the requests of a recording around a quantile, or in the tail beyond it."""
    ((n,),) = store.query(_N, [around.kind])
    store.write(_WINDOW, [around.kind, *places(n, around.share, around.is_tail)])
    ((chosen, total_ns),) = store.query(_SUM)
    groups = [
        {what: Tally(count, dur) for what, count, dur in store.query(sql)}
        for sql in (query("gate/reasons"), query("gate/culprits"), query("gate/patterns"))
    ]
    return Window(chosen, total_ns, *groups)


def merged(windows: Iterable[Window]) -> Window:
    """Return the windows of several runs as one."""
    windows = list(windows)
    groups: list[dict[str, Tally]] = []
    for grouping in GROUPINGS:
        sums: dict[str, Tally] = {}
        for what, of in ((w, f) for one in windows for w, f in getattr(one, grouping).items()):
            before = sums.get(what, Tally(0, 0))
            sums[what] = Tally(before.n + of.n, before.dur_ns + of.dur_ns)
        groups.append(sums)
    n, total_ns = sum(one.n for one in windows), sum(one.total_ns for one in windows)
    return Window(n, total_ns, *groups)


def causes_of(a: Window, b: Window) -> list[Cause]:
    """Return what grew most from *a* to *b*, at most three causes in each grouping.

    Empty when the latency did not grow, or when a side has no recorded waits.
    """
    if not a.n or not b.n or not (a.reason and b.reason):
        return []
    change_ns = b.total_ns / b.n - a.total_ns / a.n
    if change_ns <= 0:
        return []
    loads = (Load(a.n, 0.0, a.total_ns, 0), Load(b.n, 0.0, b.total_ns, 0))
    causes = []
    for by in GROUPINGS:
        ranked: Sequence[Change] = changes(getattr(a, by), getattr(b, by), loads)
        more = [change for change in ranked if change.delta_ns > 0][:TOP]
        causes += [Cause(by, change, change.delta_ns / change_ns) for change in more]
    return causes


def as_object(one: Window) -> dict[str, object]:
    """Return a window as an object for JSON."""
    groups = {by: {what: list(of) for what, of in getattr(one, by).items()} for by in GROUPINGS}
    return {"n": one.n, "total_ns": one.total_ns, **groups}


def from_object(saved: Mapping[str, object]) -> Window:
    """Return the window that ``as_object`` turned into *saved*."""
    n, total_ns = saved["n"], saved["total_ns"]
    assert isinstance(n, int)
    assert isinstance(total_ns, int)
    groups: list[dict[str, Tally]] = []
    for by in GROUPINGS:
        of = saved[by]
        assert isinstance(of, dict)
        groups.append({what: Tally(*counts) for what, counts in of.items()})
    return Window(n, total_ns, *groups)
