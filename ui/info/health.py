"""How far a recording can be trusted: where it was made, what is missing."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports import report
from rcp.analyzer.reports.doubts import notes
from rcp.ui.queries import query


class Candidate(NamedTuple):
    """Threads of one name that made requests and have no role."""

    comm: str
    n_requests: int


class Lost(NamedTuple):
    """Events of one probe that were lost."""

    probe: str
    n: int
    share: float
    """Part of all its events, 0 to 1."""


class Health(NamedTuple):
    """What is known of a recording as a whole."""

    header: report.Header
    is_virtual: bool
    """Its clock is the lab's: no time passes but what the guest's instructions take."""
    lost: list[Lost]
    notes: list[str]
    """What else makes it incomplete."""
    has_foreground: bool
    candidates: list[Candidate]
    """Who could be the foreground, the busiest first."""


def health(store: Store) -> Health:
    """Return what is known of a recording as a whole."""
    meta = facts(store)
    header = report.header(store, meta)
    return Health(
        header=header,
        is_virtual=bool(meta.get("clock", {}).get("virtual")),
        lost=store.rows(Lost, query("health/lost")),
        notes=notes(meta, header.n_unfinished),
        has_foreground=bool(store.query("SELECT 1 FROM task WHERE role = 'foreground' LIMIT 1")),
        candidates=store.rows(Candidate, query("health/candidates")),
    )
