"""Recordings that are short enough for predictions that nobody asked for."""

from __future__ import annotations

from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.columns import Recorded
from rcp.analyzer.whatif.recorded import read_recorded

SEGMENTS_MAX = 1_000_000
"""Of a longer recording a report does not predict: `rcp-trace whatif` does, when asked."""


def read_if_short(store: Store) -> Recorded | None:
    """Read a recording; None if it is too long, or has no finished foreground request."""
    ((n_segments,),) = store.query("SELECT count(*) FROM segment")
    if n_segments > SEGMENTS_MAX:
        return None
    recorded = read_recorded(store)
    return recorded if len(recorded.requests) else None
