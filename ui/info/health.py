"""The health of a recording: where it was made, and what it lacks."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports import report
from rcp.analyzer.reports.doubts import lacks, notes
from rcp.ui.queries import query


class Candidate(NamedTuple):
    """Threads of one name that make requests but have no role."""

    comm: str
    n_requests: int


class Lost(NamedTuple):
    """Events of one probe that were lost, or are missing."""

    probe: str
    n: int
    share: float
    """Part of all its events, 0 to 1."""


class Health(NamedTuple):
    """Facts about a recording as a whole."""

    header: report.Header
    is_virtual: bool
    """Whether it was made in the lab's virtual time, which counts the guest's instructions."""
    lost: list[Lost]
    incomplete: str
    """What it lacks, as a sentence; "" if that is little."""
    notes: list[str]
    """Further reasons why it is incomplete."""
    has_foreground: bool
    candidates: list[Candidate]
    """Possible foreground threads, the busiest first."""


def health(store: Store) -> Health:
    """Return the health of a recording."""
    meta = facts(store)
    header = report.header(store, meta)
    return Health(
        header=header,
        is_virtual=bool(meta.get("clock", {}).get("virtual")),
        lost=store.rows(Lost, query("health/lost")),
        incomplete=lacks(meta),
        notes=notes(meta, header.n_unfinished),
        has_foreground=bool(store.query("SELECT 1 FROM task WHERE role = 'foreground' LIMIT 1")),
        candidates=store.rows(Candidate, query("health/candidates")),
    )
