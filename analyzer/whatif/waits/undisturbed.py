"""How slow requests are that the culprit did not disturb.

What is left of a wait without a culprit is uncertain: its parts are told apart by models. Requests
that met nothing of the culprit show how slow the rest makes them. So without it, no request is
slower than the slowest of these, if there are enough of its kind::

    recorded      1 ms  1 ms  1.2 ms ... 9 ms, of which 7 ms are the culprit's
    predicted     1 ms  1 ms  1.2 ms ... 1.2 ms, not 2 ms
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import OP_READ, Index, Times
from rcp.analyzer.blame.device.kept_free import covered_ns
from rcp.analyzer.whatif.columns import Floats, Recorded, RequestRows, SegmentRows

_ALIKE_MIN = 20
"""With fewer, the slowest of them says little about the slowest of all."""

_HARDLY = 0.05
"""A request that loses no more than this part of what its kind usually takes is undisturbed."""

_WORKS = 8
"""What requests wait for is one of so many sets: of commits, reads, and other ios."""

_NO_LIMIT = np.iinfo(np.int64).max


def slowest_undisturbed(recorded: Recorded, gone: Times, lost: Times) -> Times:
    """Return, for each request, the time of the slowest undisturbed one of its kind.

    A kind is the calls of one name by one thread that do alike: they read, write, wait for a
    commit, or not. What is ``gone`` of each segment does not count, so that a read from the cache
    is no measure for one from a disk. Without enough requests of a kind there is no limit.
    ``lost`` is what each request loses without the culprit.

    A request beside a disturbed one may wait for that: it is a measure only if others are too few.
    """
    requests = recorded.requests
    kind = requests.once(RequestRows.kind) * _WORKS + _work(recorded, gone)
    n_kinds = int(kind.max(initial=-1)) + 1
    is_disturbed = lost > _HARDLY * _middle(requests, kind, n_kinds)[kind]
    limit = np.full(n_kinds, _NO_LIMIT)
    end = requests.ts + requests.dur
    calm, beside = np.flatnonzero(~is_disturbed), np.zeros(len(requests), bool)
    disturbed = requests.ts[is_disturbed], end[is_disturbed]
    beside[calm] = covered_ns(*disturbed, requests.ts[calm], end[calm]) > 0
    for chosen in (calm, calm[~beside[calm]]):
        slowest = np.zeros(n_kinds, np.int64)
        np.maximum.at(slowest, kind[chosen], requests.dur[chosen])
        is_known = np.bincount(kind[chosen], minlength=n_kinds) >= _ALIKE_MIN
        limit = np.where(is_known, slowest, limit)
    found: Times = limit[kind]
    return found


def _by_dur(requests: RequestRows) -> Times:
    return np.argsort(requests.dur, kind="stable")


def _middle(requests: RequestRows, kind: Times, n_kinds: int) -> Floats:
    """Return the median time of each kind; 0 for one without requests."""
    order = requests.once(_by_dur)
    order = order[np.argsort(kind[order].astype(np.min_scalar_type(n_kinds)), kind="stable")]
    count = np.bincount(kind, minlength=n_kinds)
    begin, some = np.cumsum(count) - count, count > 0
    low, high = (
        requests.dur[order[begin[some] + at[some]]] for at in ((count - 1) // 2, count // 2)
    )
    found = np.zeros(n_kinds)
    found[some] = (low + high) / 2
    return found


class _Works(NamedTuple):
    """The segments that are at a read or another io, or wait for a commit."""

    reads: Index
    other_ios: Index
    commits: Index


def _works(recorded: Recorded) -> _Works:
    segments = recorded.segments
    at_io = segments.once(SegmentRows.at_ios)
    is_read = recorded.disks.op[segments.io[at_io]] == OP_READ
    found = (at_io[is_read], at_io[~is_read], np.flatnonzero(segments.journal >= 0))
    return _Works(*(one.astype(np.int32) for one in found))


def _work(recorded: Recorded, gone: Times) -> Times:
    """Return what each request waits for as bits: for a commit, a read, and any other io."""
    segments, works = recorded.segments, recorded.once(_works)
    found = np.zeros(len(recorded.requests), np.int64)
    for bit, at in ((1, works.commits), (2, works.reads), (4, works.other_ios)):
        waits = np.zeros(len(found), bool)
        waits[segments.request[at[segments.dur[at] > gone[at]]]] = True
        found += bit * waits
    return found
