"""Facts about a recording: when, where and how it was made."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from rcp.analyzer.db.store import Store


class Extent(NamedTuple):
    """When a recording was made: [begin_ns, end_ns) by its own clock."""

    begin_ns: int
    end_ns: int

    @property
    def dur_ns(self) -> int:
        """Return its length, which every rate is divided by."""
        return self.end_ns - self.begin_ns


def extent(store: Store) -> Extent:
    """Return the extent of a recording, which every screen and every rate goes by.

    It begins when the recorder began to count, by the recorder's clock: probes attached earlier
    have seen events before that. It ends when the recorder ended, or with the last event if the
    recorder was killed.
    """
    known = facts(store)
    first_ns, last_ns = (int(known.get(f"{name}_event_ns") or 0) for name in ("first", "last"))
    begin_ns = int(known.get("clock", {}).get("started_monotonic_ns") or first_ns)
    end_ns = int((known.get("end") or {}).get("ended_monotonic_ns") or last_ns)
    return Extent(min(begin_ns, end_ns), end_ns)


def facts(store: Store) -> dict[str, Any]:
    """Return the ``meta`` table as a dictionary."""
    return {key: json.loads(value) for key, value in store.query("SELECT key, value FROM meta")}
