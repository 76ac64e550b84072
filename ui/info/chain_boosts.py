"""What the patched kernel made critical on a request's path, as arrows between its lanes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from rcp.analyzer.db.store import Store
from rcp.analyzer.text import duration
from rcp.ui.info.chain_lanes import Key
from rcp.ui.queries import query


class Arrow(NamedTuple):
    """From one lane to another at a moment: a wake-up, or a boost."""

    from_lane: int
    to_lane: int
    at_ns: int
    """Since the start of the request."""
    text: str


class _Boost(NamedTuple):
    at_ns: int
    utid: int
    waiter: str
    helper_utid: int | None
    helper: str | None
    mechanism: str | None
    io_id: int | None
    queued_dur: int | None


def _arrow(boost: _Boost, positions: Mapping[Key, int]) -> Arrow | None:
    waiter: Key = ("task", boost.utid)
    if boost.helper_utid is not None:
        boosted: Key = ("task", boost.helper_utid)
        how = f" ({boost.mechanism})" if boost.mechanism else ""
        text = f"{boost.waiter} boosts {boost.helper}{how}"
    else:
        boosted = ("io", boost.io_id or 0)
        queued = f" after {duration(boost.queued_dur)}" if boost.queued_dur is not None else ""
        text = f"{boost.waiter} boosts the queued io{queued}"
    if boosted not in positions:
        return None
    to = positions[boosted]
    return Arrow(positions.get(waiter, to), to, boost.at_ns, text)


def boosts(store: Store, request_id: int, positions: Mapping[Key, int], dur_ns: int) -> list[Arrow]:
    """Return a request's boosts whose boosted task or io has a lane, in order of time.

    Where the waiter has no lane, the arrow has no shaft. A loan that is older than the request is
    drawn at its start.
    """
    found = store.rows(_Boost, query("request/boosts"), [request_id])
    arrows = (_arrow(boost, positions) for boost in found)
    return [arrow._replace(at_ns=min(max(arrow.at_ns, 0), dur_ns)) for arrow in arrows if arrow]
