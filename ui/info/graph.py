"""The wait-for graph: the critical paths of many requests, added up.

Time flows from the requests, in column 0, to what they waited for, from there to the threads or
ios that ended the waits, and on to what these waited for. The rules are in
``ui/sql/digest/parts.sql``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

from rcp.analyzer.db.meta import extent
from rcp.analyzer.db.store import Store, StoreError
from rcp.ui.info.inversions import pattern_key
from rcp.ui.info.population import BANDS, limits
from rcp.ui.queries import query

SLOWEST_CHOICES = {
    "1": "slowest 1 %",
    "0.1": "slowest 0.1 %",
    "10": "slowest 10 %",
    "all": "all requests",
}
"""Choices of requests by percentile, the usual one first, by their name in addresses."""

_QUANTILES = {"10": 0.9, "1": 0.99, "0.1": 0.999}

_FEW = ("1", "0.1")
"""Choices whose parts are found at once: finding those of all requests takes several times as long
but serves all questions that follow."""

_KEPT_MAX = 25_000_000
"""Waits and segments of a recording whose parts are kept in memory, in some 20 bytes each: half a
gigabyte. Those of larger ones are found anew for each question."""


class Asked(NamedTuple):
    """Which requests the graph is of."""

    role: str
    """Of their threads, "" for any."""
    kind: str
    """Their name, "" for all outermost ones."""
    slowest: str = "1"
    """A key of SLOWEST_CHOICES."""
    pattern: str = ""
    """Key in a URL of the pattern of inversions that delayed them, "" for any."""


class Hop(NamedTuple):
    """Time that flows from a node to one of the next column."""

    level: int
    """Column of the source."""
    source: str
    """Key of a node: see ``ui/sql/digest/parts.sql``."""
    target: str
    dur_ns: int

    @property
    def key(self) -> str:
        """Its id in a URL."""
        parts = (str(self.level), self.source, self.target)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


class Waiting(NamedTuple):
    """The requests of a graph."""

    n: int
    dur_ns: int
    own_ns: int
    """Time in which their own threads ran on a CPU."""

    @property
    def waiting_ns(self) -> int:
        """Time in which they did not, which is what flows out of column 0."""
        return self.dur_ns - self.own_ns


class Waited(NamedTuple):
    """A request behind an edge."""

    request_id: int
    offset_ns: int
    name: str
    comm: str
    dur_ns: int
    waited_ns: int
    """Its time in the edge."""


class Behind(NamedTuple):
    """Requests behind an edge."""

    n: int
    found: list[Waited]
    """Those with the most time in it."""


def _pattern_id(store: Store, key: str) -> int | None:
    """Return the number of a pattern, -1 if there is none with this key, None for any pattern."""
    if not key:
        return None
    for *parts, number in store.query(query("graph/pattern")):
        if pattern_key(*parts) == key:
            return int(number)
    return -1


def _parameters(store: Store, asked: Asked) -> list[object]:
    least_ns = 0
    if asked.slowest in _QUANTILES:
        ends = limits(store, asked.role, asked.kind)
        shares = [share for share, _ in BANDS]
        least_ns = ends[shares.index(_QUANTILES[asked.slowest])] if ends else 0
    return [asked.role, asked.kind, least_ns, _pattern_id(store, asked.pattern)]


def keep_parts(store: Store) -> bool:
    """Keep the parts of all requests in memory, for the questions that follow.

    Returns whether they are kept: there may be too many, or too little memory. Then each question
    finds its own. Of a million requests, finding all takes two seconds, asking those that are kept
    a quarter.
    """
    ((is_kept, n),) = store.query(query("graph/kept"))
    if is_kept or n > _KEPT_MAX:
        return bool(is_kept)
    try:
        with store.transaction():
            store.write(query("digest/part"))
            store.write(query("digest/kept_parts"))
    except StoreError:
        return False
    return True


def ask_hops(ask: Callable[..., Any], asked: Asked) -> list[Hop]:
    """Return the edges, after keeping the parts if many are asked for; *ask* asks a recording."""
    if asked.slowest not in _FEW:
        ask(keep_parts)
    found: list[Hop] = ask(hops, asked)
    return found


def hops(store: Store, asked: Asked) -> list[Hop]:
    """Return the edges of the graph, the widest first."""
    return store.rows(Hop, query("graph/edges"), _parameters(store, asked))


def totals(store: Store, asked: Asked) -> Waiting:
    """Return the number and time of the requests of the graph."""
    (found,) = store.rows(Waiting, query("graph/totals"), _parameters(store, asked))
    return found


def behind(store: Store, asked: Asked, members: tuple[Hop, ...]) -> Behind:
    """Return the requests that have time in at least one of these edges, all from one column."""
    if not members:
        return Behind(0, [])
    begin, _ = extent(store)
    ends = [[hop.source for hop in members], [hop.target for hop in members]]
    parameters = [*_parameters(store, asked), members[0].level, *ends, begin]
    rows = store.query(query("graph/requests"), parameters)
    return Behind(rows[0][-1] if rows else 0, [Waited(*row[:-1]) for row in rows])
