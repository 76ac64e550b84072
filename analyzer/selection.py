"""Selects requests: by id, kind, thread, time or slowness. For reports and exports alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.text import brief_duration, plural
from rcp.probes.contract.user_error import UserError

_ALL_MAX = 1 << 62
_ID_MAX = (1 << 31) - 1
_NAMED_MAX = 8  # names that an error lists


class SelectionError(UserError):
    """The selection is invalid or empty; the message says why and names the remedy."""


@dataclass(frozen=True)
class Wanted:
    """What requests must be to be selected; an empty field leaves all of them."""

    request_ids: Sequence[int] = ()
    kinds: Sequence[str] = ()
    """Globs of request names."""
    tasks: Sequence[str] = ()
    """Globs of thread names, tids or pids."""
    slowest: int | None = None
    """At most so many, the slowest."""
    from_ns: int | None = None
    """Only those that start at or after this time since the recording began."""
    to_ns: int | None = None
    """Only those that start before this time."""

    def __bool__(self) -> bool:
        """Tell whether anything restricts the selection."""
        lists = (self.request_ids, self.kinds, self.tasks)
        bounds = (self.slowest, self.from_ns, self.to_ns)
        return any(lists) or any(bound is not None for bound in bounds)


@dataclass(frozen=True)
class Selection:
    """Selected requests, and the window [lo_ns, hi_ns) to export."""

    request_ids: Sequence[int]
    """Finished requests, the slowest first."""
    lo_ns: int
    hi_ns: int
    is_whole: bool
    """Nothing restricts the selection."""


class Part(NamedTuple):
    """Which part of a recording's requests a report is about."""

    text: str
    n: int
    n_all: int
    """Finished requests in the recording: foreground ones if the part has no others."""


ALL = Wanted()


def select(store: Store, wanted: Wanted = ALL) -> Selection:
    """Select finished requests.

    Without ids only foreground requests are selected, or all requests if no foreground one
    qualifies. Raises SelectionError when a request does not exist or did not finish, when the time
    range is empty, or when no request is left.
    """
    lo, hi = _window(store, wanted)
    ids = list(dict.fromkeys(wanted.request_ids))
    _check_ids(store, ids)
    most = min(wanted.slowest if wanted.slowest is not None else _ALL_MAX, _ALL_MAX)
    for any_role in (bool(ids), True):
        values = [lo, hi, any_role, ids, most, list(wanted.kinds), list(wanted.tasks)]
        found = store.query(query("selection/chosen"), values)
        if found:
            break
    if not found and wanted:
        raise SelectionError(_why_nothing(store, wanted))
    if ids or wanted.slowest is not None:
        lo, hi = min(row[1] for row in found), max(row[2] for row in found) + 1
    return Selection([row[0] for row in found], lo, hi, not wanted)


def part(store: Store, wanted: Wanted, selection: Selection) -> Part:
    """Say which requests were selected, and of how many."""
    ids = list(selection.request_ids)
    ((n_foreground, n_any, n_own),) = store.query(query("selection/finished"), [ids])
    is_foreground = n_own == len(ids)
    n_all = n_foreground if is_foreground else n_any
    share = f"the {len(ids)} slowest" if wanted.slowest is not None else str(len(ids))
    noun = "foreground request" if is_foreground else "request"
    conditions = list(_conditions(wanted))
    of = f"{share} of {plural(n_all, noun)}"
    return Part(f"{of}: {', '.join(conditions)}" if conditions else of, len(ids), n_all)


def _conditions(wanted: Wanted) -> list[str]:
    found = []
    if wanted.request_ids:
        found.append("request " + ", ".join(map(str, wanted.request_ids)))
    if wanted.kinds:
        found.append(" or ".join(wanted.kinds))
    if wanted.tasks:
        found.append("by " + " or ".join(wanted.tasks))
    if wanted.from_ns is not None:
        found.append(f"started at {brief_duration(wanted.from_ns)} or later")
    if wanted.to_ns is not None:
        found.append(f"started before {brief_duration(wanted.to_ns)}")
    return found


def _window(store: Store, wanted: Wanted) -> tuple[int, int]:
    begin, end = extent(store)
    first, last = _events(store)
    lo = first if wanted.from_ns is None else begin + wanted.from_ns
    hi = last + 1 if wanted.to_ns is None else begin + wanted.to_ns
    if lo < hi:
        return lo, hi
    from_text, to_text = (brief_duration(ns or 0) for ns in (wanted.from_ns, wanted.to_ns))
    if wanted.from_ns is not None and wanted.to_ns is not None:
        raise SelectionError(f"--from {from_text} must come before --to {to_text}.")
    long = f"{store.name} is {brief_duration(end - begin)} long"
    if wanted.from_ns is not None and lo < end:
        raise SelectionError(
            f"--from {from_text} is after the last event, at {brief_duration(last - begin)}."
        )
    if wanted.from_ns is not None:
        raise SelectionError(f"--from {from_text} is after the end: {long}.")
    raise SelectionError(f"--to {to_text} is before the first event: {long}.")


def _why_nothing(store: Store, wanted: Wanted) -> str:
    for what, globs, name in (
        ("request of kind", wanted.kinds, "kinds"),
        ("request by", wanted.tasks, "tasks"),
    ):
        if not globs:
            continue
        only = Wanted(kinds=wanted.kinds) if name == "kinds" else Wanted(tasks=wanted.tasks)
        if not _matches(store, only):
            known = [known for (known,) in store.query(query(f"selection/{name}"))]
            more = ", …" if len(known) > _NAMED_MAX else ""
            there = ", ".join(known[:_NAMED_MAX]) + more or "none"
            return f"{store.name} has no finished {what} {' or '.join(globs)}: there are {there}."
    return "no finished request is selected: leave out an option, or widen --from and --to."


def _matches(store: Store, wanted: Wanted) -> bool:
    values = [0, (1 << 63) - 1, True, [], 1, list(wanted.kinds), list(wanted.tasks)]
    return bool(store.query(query("selection/chosen"), values))


def _events(store: Store) -> tuple[int, int]:
    # A whole recording is exported with what was seen while the recorder was starting.
    known = facts(store)
    return int(known.get("first_event_ns", 0)), int(known.get("last_event_ns", 0))


def _check_ids(store: Store, request_ids: Sequence[int]) -> None:
    sql = "SELECT request_id, dur FROM request WHERE list_contains($1::INTEGER[], request_id)"
    possible = [request_id for request_id in request_ids if request_id <= _ID_MAX]
    known = dict(store.query(sql, [possible])) if possible else {}
    for request_id in request_ids:
        if request_id not in known:
            ((last,),) = store.query("SELECT max(request_id) FROM request")
            there = f"request ids go from 1 to {last}" if last else "it has no requests"
            raise SelectionError(f"{store.name} has no request {request_id}: {there}.")
        if known[request_id] is None:
            raise SelectionError(f"request {request_id} did not finish: it has no critical path.")
