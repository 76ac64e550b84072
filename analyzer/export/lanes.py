"""Spreads overlapping intervals over as many lanes as needed. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

Item = TypeVar("Item")

_OPEN_END = 1 << 63


def disjoint(items: Iterable[tuple[int, int, Item]]) -> list[list[Item]]:
    """Spread (ts, end, item), ordered by ts, over lanes in which items do not overlap."""
    return _spread(items, lambda ends, ts, end: not ends or ends[-1] <= ts)


def nested(items: Iterable[tuple[int, int | None, Item]]) -> list[list[Item]]:
    """Spread (ts, end, item), ordered by ts and longest first, over lanes in which items nest.

    An item with an ``end`` of None did not end.
    """
    known = ((ts, _OPEN_END if end is None else end, item) for ts, end, item in items)
    return _spread(known, _fits_inside)


def _fits_inside(ends: list[int], ts: int, end: int) -> bool:
    while ends and ends[-1] <= ts:
        ends.pop()
    return not ends or end <= ends[-1]


def _spread(
    items: Iterable[tuple[int, int, Item]], fits: Callable[[list[int], int, int], bool]
) -> list[list[Item]]:
    lanes: list[list[Item]] = []
    open_ends: list[list[int]] = []
    for ts, end, item in items:
        at = next((at for at, ends in enumerate(open_ends) if fits(ends, ts, end)), len(lanes))
        if at == len(lanes):
            lanes.append([])
            open_ends.append([])
        lanes[at].append(item)
        open_ends[at].append(end)
    return lanes
