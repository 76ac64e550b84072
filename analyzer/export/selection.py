"""What part of a recording to export: some requests, some of the time, or everything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


class SelectionError(Exception):
    """Nothing can be chosen as asked; the message says why and what to do."""


@dataclass(frozen=True)
class Selection:
    """Chosen requests, and the window [lo_ns, hi_ns) they and everything else lie in."""

    request_ids: Sequence[int]
    """Finished requests, the slowest first."""
    lo_ns: int
    hi_ns: int
    is_whole: bool
    """Nothing was asked for in particular."""


def extent(store: Store) -> tuple[int, int]:
    """Return when the recording's first event began and its last one ended, in ns."""
    known = dict(
        store.query("SELECT key, value FROM meta WHERE key IN ('first_event_ns', 'last_event_ns')")
    )
    return int(known.get("first_event_ns", 0)), int(known.get("last_event_ns", 0))


def select(
    store: Store,
    request_ids: Sequence[int] = (),
    slowest: int | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> Selection:
    """Choose requests that begin in [from_ns, to_ns), times since the recording's first event.

    ``slowest`` keeps that many; without ``request_ids`` only foreground requests are chosen,
    or all of them where no role rule says which those are. Raises SelectionError when a
    request does not exist or none is left.
    """
    first, last = extent(store)
    lo = first if from_ns is None else first + from_ns
    hi = last + 1 if to_ns is None else first + to_ns
    if lo >= hi:
        raise SelectionError("the time range is empty: --from must come before --to.")
    _check_ids(store, request_ids)
    ids = list(dict.fromkeys(request_ids))
    most = slowest if slowest is not None else 1 << 62
    for any_role in (bool(ids), True):
        found = store.query(query("export/chosen"), [lo, hi, any_role, ids, most])
        if found:
            break
    asked = bool(ids) or slowest is not None or from_ns is not None or to_ns is not None
    if not found and asked:
        raise SelectionError("no finished request was chosen: widen --from and --to.")
    if ids or slowest is not None:
        lo, hi = min(row[1] for row in found), max(row[2] for row in found) + 1
    return Selection([row[0] for row in found], lo, hi, not asked)


def _check_ids(store: Store, request_ids: Sequence[int]) -> None:
    asked = "SELECT request_id, dur FROM request WHERE list_contains($1::INTEGER[], request_id)"
    known = dict(store.query(asked, [list(request_ids)])) if request_ids else {}
    for request_id in request_ids:
        if request_id not in known:
            ((last,),) = store.query("SELECT max(request_id) FROM request")
            there = f"request ids go from 1 to {last}" if last else "it has no requests"
            raise SelectionError(f"{store.name} has no request {request_id}: {there}.")
        if known[request_id] is None:
            raise SelectionError(
                f"request {request_id} did not finish: it has no critical path to export."
            )
