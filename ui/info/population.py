"""The requests a screen shows, by role and kind, and their bands of latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.arrays.roles import BACKGROUND, FOREGROUND, KERNEL, UNKNOWN
from rcp.analyzer.db.store import Store
from rcp.ui.queries import query

ROLES = (FOREGROUND, UNKNOWN, BACKGROUND, KERNEL)
"""Roles of threads, the most important first."""

ALL = "all"
"""Any role or kind in a URL; queries use ''."""

BANDS = ((0.5, "fastest 50 %"), (0.9, "50–90 %"), (0.99, "90–99 %"), (0.999, "99–99.9 %"))
"""Upper quantile and name of each band but the last, SLOWEST."""

SLOWEST = "above p99.9"
"""Not the slowest 0.1 %, as the wait-for graph has them: those include the p99.9 itself."""

BAND_NAMES = (*(name for _, name in BANDS), SLOWEST)


class Kind(NamedTuple):
    """Requests of one name made by threads of one role."""

    role: str
    name: str
    n: int


class Band(NamedTuple):
    """Requests between two quantiles of latency."""

    band: int
    """Position in BAND_NAMES."""
    n: int
    shortest_ns: int
    longest_ns: int
    slowest_id: int
    typical_id: int
    """The request in the middle of the band."""


def kinds(store: Store) -> list[Kind]:
    """Return the kinds of finished requests, the most frequent first."""
    return store.rows(Kind, query("population/kinds"))


def roles(found: Sequence[Kind]) -> list[str]:
    """Return the roles of threads that have requests; the first one is shown unless chosen."""
    return [role for role in ROLES if any(kind.role == role for kind in found)]


def limits(store: Store, role: str, kind: str) -> tuple[int, ...]:
    """Return the latency in ns at the end of each of BANDS, () without requests."""
    shares = [share for share, _ in BANDS]
    ((found,),) = store.query(query("population/limits"), [role, kind, shares])
    return tuple(int(limit) for limit in found or [])


def bands(store: Store, role: str, kind: str, ends: tuple[int, ...]) -> list[Band]:
    """Return the bands that have requests, the fastest first; *ends* are those of ``limits``."""
    return store.rows(Band, query("population/bands"), [role, kind, ends]) if ends else []
