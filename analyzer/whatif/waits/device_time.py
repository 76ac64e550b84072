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

While a device is idle, its scheduler keeps it free for those that it served last (bfq).

The attributed times are sums over moments, so a window's is a difference of two sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.worked_for import ROUNDING_NS
from rcp.analyzer.whatif.recorded import Floats, IoRows

_UNIT = 1 << 10
"""One whole io: shares are whole numbers of these, so that sums of them have no rounding errors."""


@dataclass(frozen=True)
class _Curves:
    """Sums up to each moment of a device."""

    moments: Times
    for_culprit: Floats
    """Time worked for the culprit."""
    has_culprits: Floats
    """Time with a culprit's io at the device."""
    of_one: Floats
    """Time worked for an io of weight 1 that is at the device all the while."""
    issued: Times
    completed: Times
    """Times of D and C, each in order."""
    work_issued: Floats
    work_completed: Floats
    """The culprit's work up to the first, the second of them ... that was issued, completed."""

    def in_flight(self, lo: Times, hi: Times) -> Floats:
        """Return what all ios of the culprit at the device in [lo, hi) would take alone."""
        begun = self.work_issued[np.searchsorted(self.issued, hi, "left")]
        return begun - self.work_completed[np.searchsorted(self.completed, lo, "right")]

    def at(self, moments: Times) -> Floats:
        """Return the three sums at moments, as rows."""
        sums = (self.for_culprit, self.has_culprits, self.of_one)
        return np.column_stack([np.interp(moments, self.moments, one) for one in sums])


class DeviceTime:
    """By device, the time it worked for a culprit up to each moment."""

    def __init__(self, disks: IoRows, part: Floats) -> None:
        """Attribute all time; ``part`` is the culprit's part of each io, 0 to 1."""
        self._curves: dict[int, _Curves] = {}
        self._weight = np.maximum(np.minimum(disks.solo_ns, disks.completed - disks.issued), 1)
        self._disks = disks
        for dev in np.unique(disks.dev):
            on = np.flatnonzero(disks.dev == dev)
            if part[on].any():
                self._curves[int(dev)] = _curves(disks, on, self._weight[on], part[on])

    def taken(self, io: Times, lo: Times, hi: Times, waited: Times) -> Times:
        """Return what of ``waited`` in the stages [lo, hi) of ios is for the culprit, in ns."""
        found = np.zeros(len(io), np.int64)
        disks = self._disks
        for number, curves in self._curves.items():
            on = np.flatnonzero(disks.dev[io] == number)
            begin, end = (curves.at(at[on]) for at in (lo, hi))
            for_culprit, has_culprits, of_one = (end - begin).T
            at_device = lo[on] >= disks.issued[io[on]]
            own = np.where(at_device, of_one * self._weight[io[on]], 0)
            of_others = np.maximum((hi - lo)[on] - own, for_culprit)
            part = for_culprit / np.maximum(of_others, 1)
            # Then the device may still be busy with what the culprit's ios left behind.
            at_most = has_culprits + curves.in_flight(lo[on], hi[on])
            taken = np.minimum(waited[on] * np.minimum(part, 1), at_most)
            found[on] = np.floor(taken + ROUNDING_NS)
        return np.clip(found, 0, np.maximum(waited, 0))


def _curves(disks: IoRows, on: npt.NDArray[np.intp], weight: Times, part: Floats) -> _Curves:
    own = np.rint(part * _UNIT).astype(np.int64) * weight
    moments = np.concatenate((disks.issued[on], disks.completed[on]))
    order = np.argsort(moments, kind="stable")
    moments = moments[order]
    all_work = np.cumsum(np.concatenate((weight, -weight))[order])
    own_work = np.cumsum(np.concatenate((own, -own))[order])
    rate = own_work / np.maximum(all_work * _UNIT, 1)
    # An io that is queued while the device is idle waits for whom the scheduler keeps it free:
    # those that it served last.
    last = np.maximum.accumulate(np.where(all_work > 0, np.arange(len(moments)), 0))
    rate = rate[last]
    return _Curves(
        moments,
        _summed(rate, moments),
        _summed(rate > 0, moments),
        _summed(1 / np.maximum(all_work, 1), moments),
        *_in_order(disks.issued[on], disks.completed[on], weight * part),
    )


def _in_order(issued: Times, completed: Times, work: Floats) -> tuple[Times, Times, Floats, Floats]:
    by_issue, by_completion = np.argsort(issued), np.argsort(completed)
    return (
        issued[by_issue],
        completed[by_completion],
        np.r_[0.0, np.cumsum(work[by_issue])],
        np.r_[0.0, np.cumsum(work[by_completion])],
    )


def _summed(rate: npt.NDArray[Any], moments: Times) -> Floats:
    """Return the integral of a rate that changes at moments."""
    total = np.zeros(len(moments))
    np.cumsum(rate[:-1] * np.diff(moments), out=total[1:])
    return total
