"""As-of joins on (group, time), and ranges and group codes, all without a Python step per row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times

Keys = npt.NDArray[np.integer[Any]]

_MOST_KEYS = 1 << 62
"""A group and a time are one 64-bit number, if there are fewer of these."""

_TABLE_PER_ROW, _LEAST_TABLE = 4, 1 << 16
"""A table of that many possible rows is faster than a sort."""


def asof_backward(group: Keys, time: Times, query_group: Keys, query_time: Times) -> Index:
    """Return, for each query (group, time), the last row of its group at or before it, or -1."""
    if len(group) == 0 or len(query_group) == 0:
        return np.full(len(query_group), -1, np.int32)
    base, first = int(group.min()), min(int(time.min()), int(query_time.min()))
    span = max(int(time.max()), int(query_time.max())) - first + 1
    if int(group.max()) < _MOST_KEYS and (int(group.max()) - base + 1) * span < _MOST_KEYS:
        keys = (group.astype(np.int64) - base) * span + (time.astype(np.int64) - first)
        inside = (query_group >= base) & (query_group <= group.max())
        wanted = np.where(inside, query_group, base).astype(np.int64) - base
        wanted = wanted * span + (query_time.astype(np.int64) - first)
        return _last_by_key(group, keys, query_group, wanted)
    return _last_by_order(group, time, query_group, query_time)


def _last_by_key(group: Keys, keys: Times, query_group: Keys, wanted: Times) -> Index:
    """Return the rows with the largest keys up to those ``wanted``, if they are of that group."""
    order = None
    if not (keys[1:] >= keys[:-1]).all():
        order = np.argsort(keys, kind="stable")
        keys = keys[order]
    at = np.searchsorted(keys, wanted, "right") - 1
    if order is not None:
        at = np.where(at >= 0, order[at], -1)
    return np.where((at >= 0) & (group[at] == query_group), at, -1).astype(np.int32)


def _last_by_order(group: Keys, time: Times, query_group: Keys, query_time: Times) -> Index:
    """Return the same where group and time do not fit into one number."""
    rows = np.flatnonzero(np.isin(group, query_group))
    n, groups = len(rows), np.concatenate((group[rows], query_group))
    # At the same time, rows sort before queries: lexsort is stable.
    order = np.lexsort((np.concatenate((time[rows], query_time)), groups))
    is_row = order < n
    latest = last_chosen(is_row)[~is_row]
    query = order[~is_row] - n
    match = np.full(len(query_group), -1, np.int32)
    candidate = order[latest]
    same = (latest >= 0) & (groups[candidate] == query_group[query])
    match[query[same]] = rows[candidate[same]]
    return match


def asof_forward(group: Keys, time: Times, query_group: Keys, query_time: Times) -> Index:
    """Return, for each query (group, time), the first row of its group at or after it, or -1."""
    return asof_backward(group, -time, query_group, -query_time)


def last_chosen(chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Return the last chosen position up to each one, itself included, or -1."""
    return np.maximum.accumulate(np.where(chosen, np.arange(len(chosen)), -1))


def rows_between(
    group: Keys, time: Times, query_group: Keys, lo: Times, hi: Times
) -> tuple[Times, Times]:
    """Return, for each query, its group's first row after ``lo``, and how many are until ``hi``.

    Rows are in order of group and time. The first row is where it would be if there is none.
    """
    before = asof_backward(group, time, query_group, lo)
    until = asof_backward(group, time, query_group, hi)
    first = np.where(before >= 0, before + 1, np.searchsorted(group, query_group))
    return first, np.where(until >= 0, np.maximum(until + 1 - first, 0), 0)


def ranges(first: npt.NDArray[Any], count: npt.NDArray[Any]) -> tuple[Times, Times]:
    """Expand runs [first, first + count): return each element's run and its position."""
    owner = np.repeat(np.arange(len(count)), count)
    start = np.cumsum(count) - count
    return owner, np.arange(len(owner)) - np.repeat(start - first, count)


def rounds(count: Times, most: int) -> list[slice]:
    """Return consecutive parts of rows whose counts add up to about ``most``, or single rows."""
    upto = np.cumsum(count) // most
    bounds = [0, *np.flatnonzero(np.diff(upto)) + 1, len(count)] if len(count) else []
    return [slice(begin, end) for begin, end in pairwise(bounds)]


def packed(*columns: npt.NDArray[Any]) -> Times:
    """Return a number for each row of integer columns, in order of the columns.

    Equal rows have the same one. The numbers have gaps, unlike those of ``group_codes``.
    """
    found, span = _in_one(columns)
    return found if span < _MOST_KEYS else group_codes(*columns)


def _in_one(columns: Sequence[npt.NDArray[Any]]) -> tuple[Times, int]:
    """Return rows as one number each, and how many there may be; too many do not fit."""
    lows = [int(column.min()) if len(column) else 0 for column in columns]
    highs = [int(column.max()) if len(column) else 0 for column in columns]
    span = prod(high - low + 1 for low, high in zip(lows, highs, strict=True))
    found = np.zeros(len(columns[0]), np.int64)
    if span < _MOST_KEYS:
        for column, low, high in zip(columns, lows, highs, strict=True):
            found *= high - low + 1
            found += _above(column, low)
    return found, span


def _above(column: npt.NDArray[Any], low: int) -> Times:
    """Return how much values are above the least, which is less than 2^63."""
    if column.dtype.kind == "u":
        return np.asarray((column - column.dtype.type(low)).astype(np.int64))
    return column.astype(np.int64) - low


def group_codes(*columns: npt.NDArray[Any]) -> Times:
    """Number the distinct rows of integer columns from 0, in order of the columns.

    With few possible rows it needs no sort; else it sorts plain integers, which is ten times faster
    than sorting rows (np.unique with an axis).
    """
    codes, span = _in_one(columns)
    if span <= max(_TABLE_PER_ROW * len(codes), _LEAST_TABLE):
        occurs = np.zeros(span, bool)
        occurs[codes] = True
        numbers: Times = np.cumsum(occurs) - 1
        return numbers[codes]
    if span < _MOST_KEYS:
        return np.unique(codes, return_inverse=True)[1].astype(np.int64)
    for column in columns:
        labels, own = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * max(len(labels), 1) + own, return_inverse=True)
    return codes.astype(np.int64)
