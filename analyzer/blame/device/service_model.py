"""The solo service time of ios of a kind that is never alone at its device: a model of the device.

The time from D to C is taken as a sum: a time for a request of this operation, a time for each of
its bytes, and the same for the requests and bytes that were at the device when it came::

    D2C = request[op] + byte[op] * size + sum over ops (ahead[op] * n + ahead_byte[op] * bytes)

Least squares over all ios of the device give the terms; with nothing ahead, what is left is the
solo time. A device that serves many at once has small terms for what is ahead, one that serves them
in order large ones. A model whose interval is wide, or that has seen one depth only, says nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Times

MIN_IOS = 200
"""Fewer ios of a device make no model."""

MAX_IOS = 20_000
"""More are not read: the interval is narrow long before."""

CLUSTER_IOS = 20
"""Neighbours wait for the same ios, so their errors are alike: they count as one observation."""

WIDTH_MAX = 0.25
"""Half of the 95 % interval as a part of the solo time; a wider one is not used."""

_NORMAL_95_PCT = 1.96
_DIRECTIONS = 2  # reads, and all others: their terms differ most

Rows = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Modelled:
    """Solo service times by model; 0 where ``known`` is false."""

    known: npt.NDArray[np.bool_]
    estimate: Times
    high: Times
    """Upper end of the 95 % interval."""


def _at_device(ios: Ios, on: Index) -> Rows:
    """Return number and bytes of the ios at the device when each came, by direction."""
    columns = []
    is_read = ios.op[on] == 0
    for chosen in (is_read, ~is_read):
        for size in (np.ones(len(on)), ios.bytes[on].astype(np.float64)):
            amount = np.where(chosen, size, 0.0)
            ended = np.argsort(ios.completed[on], kind="stable")
            gone = np.r_[0.0, np.cumsum(amount[ended])]
            came = np.r_[0.0, np.cumsum(amount)][:-1]
            at = np.searchsorted(ios.completed[on][ended], ios.issued[on], "right")
            columns.append(np.maximum(came - gone[at], 0.0))
    return np.stack(columns, axis=1)


def _own(ios: Ios, on: Index) -> Rows:
    """Return a column of ones and one of bytes for each direction."""
    is_read, size = (ios.op[on] == 0).astype(np.float64), ios.bytes[on].astype(np.float64)
    return np.stack((is_read, is_read * size, 1 - is_read, (1 - is_read) * size), axis=1)


def _terms(part: Rows, took: Rows) -> Rows | None:
    """Return the terms of least squares of which none is below 0; None when all would be."""
    used = np.arange(part.shape[1])
    terms = np.zeros(part.shape[1])
    while len(used):
        found = np.linalg.lstsq(part[:, used], took, rcond=None)[0]
        if (found >= 0).all():
            terms[used] = found
            return terms
        used = np.delete(used, np.argmin(found))
    return None


def _fit(rows: Rows, took: Rows) -> tuple[Rows, Rows] | None:
    """Return terms, none below 0, and their covariance; None when the ios do not tell them."""
    used = np.flatnonzero(rows.any(axis=0))
    scale = np.abs(rows[:, used]).max(axis=0)
    part = rows[:, used] / scale
    gram = part.T @ part
    if np.linalg.matrix_rank(gram) < len(used):
        return None
    terms = _terms(part, took)
    if terms is None:
        return None
    # A term that is held at 0 is not known to be 0: its variance counts as that of the others.
    inverse = np.linalg.inv(gram)
    scores = part * (took - part @ terms)[:, None]
    sums = np.add.reduceat(scores, np.arange(0, len(took), CLUSTER_IOS), axis=0)
    freedom = len(sums) / max(len(sums) - len(used), 1)
    every_term, covariance = np.zeros(rows.shape[1]), np.zeros((rows.shape[1],) * 2)
    every_term[used] = terms / scale
    covariance[np.ix_(used, used)] = (
        freedom * inverse @ (sums.T @ sums) @ inverse / np.outer(scale, scale)
    )
    return every_term, covariance


def modelled_solo_ns(ios: Ios, wanted: Index) -> Modelled:
    """Return the solo service times of the ios at these positions, where a model tells them."""
    result = Modelled(*(np.zeros(len(wanted), kind) for kind in (bool, np.int64, np.int64)))
    for dev in np.unique(ios.dev[wanted]):
        at = np.flatnonzero(ios.dev[wanted] == dev)
        # Flushes wait for what the cache has, whatever is ahead.
        here = np.flatnonzero((ios.dev == dev) & ~ios.to_media)
        on: Index = here[np.argsort(ios.issued[here], kind="stable")].astype(np.int32)
        if len(on) < MIN_IOS:
            continue
        # What was at the device when one of them came had come before it.
        on = on[:MAX_IOS]
        ahead = _at_device(ios, on)
        if len(np.unique(ahead[:, 0] + ahead[:, _DIRECTIONS])) <= 1:
            continue
        took = (ios.completed[on] - ios.issued[on]).astype(np.float64)
        found = _fit(np.concatenate((_own(ios, on), ahead), axis=1), took)
        if found is None:
            continue
        # A part at a time: rows of terms take more memory than all columns of ios.
        for begin in range(0, len(at), MAX_IOS):
            part = at[begin : begin + MAX_IOS]
            _apply(result, part, ios, wanted[part], *found)
    return result


def _apply(
    result: Modelled, at: npt.NDArray[np.intp], ios: Ios, wanted: Index, terms: Rows, cov: Rows
) -> None:
    """Store what terms and their covariance tell of the ios ``wanted``, at these positions."""
    own = _own(ios, wanted)
    n_own = own.shape[1]
    solo = own @ terms[:n_own]
    variance = np.einsum("ij,ij->i", own @ cov[:n_own, :n_own], own)
    half = _NORMAL_95_PCT * np.sqrt(np.maximum(variance, 0))
    good = (solo > 0) & (half <= WIDTH_MAX * solo) & ~ios.to_media[wanted]
    result.known[at] = good
    result.estimate[at] = np.where(good, solo, 0)
    result.high[at] = np.where(good, solo + half, 0)
