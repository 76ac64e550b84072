"""The time of devices, attributed to the work that they did: a culprit's, or other work.

At each moment a device divides its time among the ios that it has, in proportion to the time that
each would take alone. A culprit's part of that is its *rate*, 0 to 1; without its ios, others would
have that time. An io of 1 ms beside one of 3 ms, both issued at 0::

    culprit    |------------ 3 ms ------------|            rate 0.75 from 0 to 4 ms:
    other      |------------------ 4 ms -----------------|  3 ms of its 4 ms are the culprit's

An io can lose no more than it waits: what it takes longer than alone. All of that is others' doing,
so it is divided among *them*. A write that takes 28 µs alone and took 4 ms beside eight of a
backup's, while the device collected garbage, would have had the device at once without them, not
after the ninth of 4 ms that its own weight comes to. But an io loses at most the time in which the
culprit's were at the device, and then what these take alone: the device may still be at work on
what they left behind.

While a device is idle, its scheduler keeps it free for those that it served last (bfq). It would
not if nobody else waited: an io of the culprit's that waits then, and is next, has that time::

    device     |-- journal --|            idle              |-- culprit --|-- other --|
    culprit's          in the scheduler ~~~~~~~~~~~~~~~~~~~~|
    other's                          in the scheduler ~~~~~~~~~~~~~~~~~~~~|

The attributed times are sums over moments, so a window's is a difference of two sums.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import last_chosen
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times
from rcp.analyzer.blame.worked_for import ROUNDING_NS
from rcp.analyzer.whatif.columns import Floats, IoRows, Recorded, SegmentRows

_UNIT = 1 << 10
"""One whole io: shares are whole numbers of these, so that sums of them have no rounding errors."""


class _Device(NamedTuple):
    """The ios of one device in order of time, whoever's they are."""

    on: Times
    """Its ios."""
    weight: Times
    """What each would take alone, in ns; at least 1."""
    order: Index
    """Positions of its ios' issues and then of their completions, by time."""
    gaps: Times
    """Time from each of these moments to the next one, in ns; 0 from the last."""
    all_work: Times
    """What all ios that are at the device then would take alone."""
    last: Index
    """The last of these moments at which there was an io that a scheduler sees; -1 for none."""
    kept_from: Index
    """The io that is issued next, of an idle moment from which on it waits; else -1."""
    by_stage: tuple[Index, Index]
    """Its ios in the order in which they were issued, and completed."""


def _devices(disks: IoRows) -> list[_Device]:
    found = []
    alone = np.maximum(disks.once(IoRows.alone_ns), 1)
    for _, on in disks.once(IoRows.by_device):
        weight, moments = alone[on], _moments(disks, on)
        order = np.argsort(moments, kind="stable").astype(np.int32)
        all_work = np.cumsum(np.concatenate((weight, -weight))[order])
        # An io that is queued while the device is idle waits for whom the scheduler keeps it free:
        # those that it served last. No scheduler sees flushes.
        seen = weight * (disks.op[on] != OP_FLUSH)
        has_seen = np.cumsum(np.concatenate((seen, -seen))[order]) > 0
        last = last_chosen(has_seen)
        last = np.where(all_work > 0, np.arange(len(order)), last)
        gaps = np.diff(moments[order], append=moments.max(initial=0))
        is_issue = order < len(on)
        by_stage = order[is_issue], order[~is_issue] - np.int32(len(on))
        # The next moment after an idle one is an issue.
        is_idle = (all_work[:-1] == 0) & is_issue[1:]
        following = on[np.where(is_idle, order[1:], 0)]
        waits = is_idle & (disks.op[following] != OP_FLUSH)
        waits &= disks.got[following] <= moments[order[:-1]]
        kept_from = np.append(np.where(waits, order[1:], -1), -1).astype(np.int32)
        of_moments = all_work, last.astype(np.int32), kept_from
        found.append(_Device(on, weight, order, gaps, *of_moments, by_stage))
    return found


def _moments(disks: IoRows, on: Times) -> Times:
    """Return the times of ios' issues, and then of their completions."""
    return np.concatenate((disks.issued[on], disks.completed[on]))


class _Stages(NamedTuple):
    """The segments [lo, hi) at ios that wait for a device, whoever is in the way."""

    at: Index
    """Positions among all segments at ios."""
    dev: Times
    waited: Times
    """What of each is not the time that its io takes alone, in ns."""
    of_others: Floats
    """The time in which the device did not work for the io itself, in ns."""
    lo_at: Index
    """The last moment of the device at or before ``lo``."""
    since_lo: Times
    """Time from it to ``lo``, in ns; 0 before the first moment, and after the last one."""
    hi_at: Index
    since_hi: Times
    n_begun: Index
    """How many ios the device was given before ``hi``."""
    n_done: Index
    """How many it had completed by ``lo``."""


def waited_ns(recorded: Recorded) -> Times:
    """Return what of each segment at an io is not the time that the io takes alone."""
    segments, disks = recorded.segments, recorded.disks
    at = segments.once(SegmentRows.at_ios)
    io = segments.io[at]
    since = segments.ts[at] - disks.issued[io]
    own = np.where(since >= 0, np.maximum(disks.once(IoRows.alone_ns)[io] - since, 0), 0)
    waited: Times = np.maximum(segments.dur[at] - own, 0)
    return waited


def _stages(recorded: Recorded) -> _Stages:
    segments, disks = recorded.segments, recorded.disks
    all_at, waited = segments.once(SegmentRows.at_ios), recorded.once(waited_ns)
    chosen = np.flatnonzero((waited > 0) & segments.is_service[all_at])
    at = all_at[chosen]
    io, lo = segments.io[at], segments.ts[at]
    dev, n = disks.dev[io], len(at)
    columns = [np.zeros(n, kind) for kind in (float, *(np.int32, np.int64) * 2, *[np.int32] * 2)]
    for (number, on), device in zip(
        disks.once(IoRows.by_device), disks.once(_devices), strict=True
    ):
        rows = np.flatnonzero(dev == number)
        begin, moments = lo[rows], _moments(disks, on)[device.order]
        ends = begin, begin + segments.dur[at[rows]]
        (lo_at, since_lo), (hi_at, since_hi) = (_last(moments, end) for end in ends)
        of_one = _summed(1 / np.maximum(device.all_work, 1), device.gaps)
        worked = _up_to(of_one, device.gaps, hi_at, since_hi)
        worked -= _up_to(of_one, device.gaps, lo_at, since_lo)
        weight = np.maximum(disks.once(IoRows.alone_ns)[io[rows]], 1)
        own = np.where(begin >= disks.issued[io[rows]], worked * weight, 0)
        n_begun = np.searchsorted(np.sort(disks.issued[on]), ends[1], "left")
        # None is completed before the first moment.
        n_done = np.cumsum(device.order >= len(on))[lo_at]
        found = (ends[1] - begin - own, lo_at, since_lo, hi_at, since_hi, n_begun, n_done)
        for column, values in zip(columns, found, strict=True):
            column[rows] = values
    return _Stages(chosen.astype(np.int32), dev, waited[chosen], *columns)


def _last(moments: Times, when: Times) -> tuple[Times, Times]:
    """Return the last moment at or before each time, and the time since then.

    Before the first and after the last moment no time counts.
    """
    last = np.searchsorted(moments, when, "right") - 1
    is_known = (last >= 0) & (last < len(moments) - 1)
    last = np.maximum(last, 0)
    return last, np.where(is_known, when - moments[last], 0)


def taken(recorded: Recorded, part: Floats, left: Times) -> Times:
    """Return what of the time ``left`` in segments at ios is for the culprit, in ns.

    ``part`` is the culprit's part of each io, 0 to 1. Where nothing is left, nothing is taken.
    """
    disks, of = recorded.disks, recorded.once(_stages)
    found, chosen = np.zeros(len(left), np.int64), left[of.at] > 0
    for (number, on), device in zip(
        disks.once(IoRows.by_device), disks.once(_devices), strict=True
    ):
        rows = np.flatnonzero(chosen & (of.dev == number))
        if len(rows) and part[on].any():
            found[of.at[rows]] = _taken(device, of, part[on], rows)
    return found


def _taken(device: _Device, of: _Stages, part: Floats, rows: Times) -> Times:
    ends = [
        (last[rows], since[rows])
        for last, since in ((of.lo_at, of.since_lo), (of.hi_at, of.since_hi))
    ]

    def within(rate: npt.NDArray[Any]) -> Floats:
        total = _summed(rate, device.gaps)
        slope = _slope(total, device.gaps)
        begin, end = (slope[last] * since + total[last] for last, since in ends)
        return end - begin

    rate = _rate(device, part)
    has_culprits, for_culprit = within(rate > 0), within(rate)
    work = device.weight * part
    begun, done = (np.r_[0.0, np.cumsum(work[order])] for order in device.by_stage)
    # Then the device may still be busy with what the culprit's ios left behind.
    at_most = has_culprits + (begun[of.n_begun[rows]] - done[of.n_done[rows]])
    of_others, waited = np.maximum(of.of_others[rows], for_culprit), of.waited[rows]
    found = np.minimum(waited * np.minimum(for_culprit / np.maximum(of_others, 1), 1), at_most)
    whole_ns: Times = np.clip(np.floor(found + ROUNDING_NS).astype(np.int64), 0, waited)
    return whole_ns


def _rate(device: _Device, part: Floats) -> Floats:
    """Return the culprit's part of the device from each moment on."""
    own = np.rint(part * _UNIT).astype(np.int64) * device.weight
    own_work = np.cumsum(np.concatenate((own, -own))[device.order])
    rate = own_work / np.maximum(device.all_work * _UNIT, 1)
    last: Floats = np.append(rate, 0.0)[device.last]
    found: Floats = np.maximum(last, np.append(part, 0.0)[device.kept_from])
    return found


def _summed(rate: npt.NDArray[Any], gaps: Times) -> Floats:
    """Return the integral of a rate that changes at moments."""
    total = np.zeros(len(gaps))
    np.cumsum(rate[:-1] * gaps[:-1], out=total[1:])
    return total


def _up_to(total: Floats, gaps: Times, last: npt.NDArray[np.integer[Any]], since: Times) -> Floats:
    """Return sums up to times, as np.interp does from the sums up to moments.

    It would search the moments anew for every culprit: here the last one before is known.
    """
    sums: Floats = _slope(total, gaps)[last] * since + total[last]
    return sums


def _slope(total: Floats, gaps: Times) -> Floats:
    """Return how fast a sum rises from each moment on."""
    slope: Floats = np.diff(total, append=total[-1:])
    slope /= np.maximum(gaps, 1)
    return slope
