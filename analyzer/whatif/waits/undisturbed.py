"""How slow requests are that the culprit did not disturb.

What is left of a wait without a culprit is uncertain: its parts are told apart by models. Requests
that met nothing of the culprit show how slow the rest makes them. So without it, no request is
slower than the slowest of these, if there are enough of its kind::

    recorded      1 ms  1 ms  1.2 ms ... 9 ms, of which 7 ms are the culprit's
    predicted     1 ms  1 ms  1.2 ms ... 1.2 ms, not 2 ms
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.trace import OP_READ, Times
from rcp.analyzer.blame.device.kept_free import covered_ns
from rcp.analyzer.whatif.recorded import IoRows, RequestRows, SegmentRows

_ALIKE_MIN = 20
"""With fewer, the slowest of them says little about the slowest of all."""

_HARDLY = 0.05
"""A request that loses no more than this part of what its kind usually takes is undisturbed."""

_NO_LIMIT = np.iinfo(np.int64).max


def slowest_undisturbed(
    requests: RequestRows, segments: SegmentRows, disks: IoRows, gone: Times, lost: Times
) -> Times:
    """Return, for each request, the time of the slowest undisturbed one of its kind.

    A kind is the calls of one name by one thread that do alike: they read, write, wait for a
    commit, or not. What is ``gone`` of each segment does not count, so that a read from the cache
    is no measure for one from a disk. Without enough requests of a kind there is no limit.
    ``lost`` is what each request loses without the culprit.

    A request beside a disturbed one may wait for that: it is a measure only if others are too few.
    """
    names = np.unique(requests.name, return_inverse=True)[1]
    kind = group_codes(requests.utid, names, _work(requests, segments, disks, gone))
    n_kinds = int(kind.max(initial=-1)) + 1
    middle = np.array([np.median(requests.dur[kind == number]) for number in range(n_kinds)])
    is_disturbed = lost > _HARDLY * middle[kind]
    limit = np.full(n_kinds, _NO_LIMIT)
    end = requests.ts + requests.dur
    beside = covered_ns(requests.ts[is_disturbed], end[is_disturbed], requests.ts, end) > 0
    for chosen in (~is_disturbed, ~is_disturbed & ~beside):
        slowest = np.zeros(n_kinds, np.int64)
        np.maximum.at(slowest, kind[chosen], requests.dur[chosen])
        is_known = np.bincount(kind[chosen], minlength=n_kinds) >= _ALIKE_MIN
        limit = np.where(is_known, slowest, limit)
    found: Times = limit[kind]
    return found


def _work(requests: RequestRows, segments: SegmentRows, disks: IoRows, gone: Times) -> Times:
    """Return what each request waits for as bits: for a commit, a read, and any other io."""
    found = np.zeros(len(requests), np.int64)
    left = (segments.dur > gone) & (segments.request >= 0)
    at_io = np.flatnonzero(left & (segments.io >= 0))
    bits = np.where(disks.op[segments.io[at_io]] == OP_READ, 2, 4)
    np.bitwise_or.at(found, segments.request[at_io], bits)
    np.bitwise_or.at(found, segments.request[left & (segments.journal >= 0)], 1)
    return found
