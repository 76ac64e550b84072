"""Selects what to export: some requests, a time range, or the whole recording."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.probes.contract.user_error import UserError


class SelectionError(UserError):
    """The selection is invalid or empty; the message says why and names the remedy."""


@dataclass(frozen=True)
class Selection:
    """Selected requests, and the window [lo_ns, hi_ns) to export."""

    request_ids: Sequence[int]
    """Finished requests, the slowest first."""
    lo_ns: int
    hi_ns: int
    is_whole: bool
    """No option restricts the selection."""


def select(
    store: Store,
    request_ids: Sequence[int] = (),
    slowest: int | None = None,
    from_ns: int | None = None,
    to_ns: int | None = None,
) -> Selection:
    """Select requests that start in [from_ns, to_ns), in ns since the recording began.

    ``slowest`` limits their number. Without ``request_ids`` only foreground requests are selected,
    or all requests if there are no foreground ones. Raises SelectionError when a request does not
    exist or did not finish, or when none is left.
    """
    begin, _ = extent(store)
    first, last = _events(store)
    lo = first if from_ns is None else begin + from_ns
    hi = last + 1 if to_ns is None else begin + to_ns
    if lo >= hi:
        raise SelectionError("the time range is empty: --from must come before --to.")
    _check_ids(store, request_ids)
    ids = list(dict.fromkeys(request_ids))
    most = slowest if slowest is not None else 1 << 62
    for any_role in (bool(ids), True):
        found = store.query(query("export/chosen"), [lo, hi, any_role, ids, most])
        if found:
            break
    is_restricted = bool(ids) or slowest is not None or from_ns is not None or to_ns is not None
    if not found and is_restricted:
        raise SelectionError("no finished request is selected: widen --from and --to.")
    if ids or slowest is not None:
        lo, hi = min(row[1] for row in found), max(row[2] for row in found) + 1
    return Selection([row[0] for row in found], lo, hi, not is_restricted)


def _events(store: Store) -> tuple[int, int]:
    # A whole recording is exported with what was seen while the recorder was starting.
    known = facts(store)
    return int(known.get("first_event_ns", 0)), int(known.get("last_event_ns", 0))


def _check_ids(store: Store, request_ids: Sequence[int]) -> None:
    sql = "SELECT request_id, dur FROM request WHERE list_contains($1::INTEGER[], request_id)"
    known = dict(store.query(sql, [list(request_ids)])) if request_ids else {}
    for request_id in request_ids:
        if request_id not in known:
            ((last,),) = store.query("SELECT max(request_id) FROM request")
            there = f"request ids go from 1 to {last}" if last else "it has no requests"
            raise SelectionError(f"{store.name} has no request {request_id}: {there}.")
        if known[request_id] is None:
            raise SelectionError(
                f"request {request_id} did not finish: it has no critical path to export."
            )
