"""Which cgroup's io.max an io waits for, and whose ios were let in meanwhile.

The limit may be the io's own cgroup's or that of one above, and a cgroup may have four: bytes and
ios a second, of reads and writes. It is the one of which most was used of late::

    pod            io.max 200 writes a second     199 let in of late, so this one
      database     io.max 500 writes a second       9 let in
      backup                                      190 let in
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import group_codes
from rcp.analyzer.arrays.cgroups import Cgroups, Limit
from rcp.analyzer.arrays.trace import Index, Ios, Times, Trace
from rcp.analyzer.blame.by_owner import Measure
from rcp.analyzer.blame.candidates import Positions
from rcp.probes.contract.events import IO, LimitedResource

LOOKBACK_NS = 100_000_000
"""blk-throttle counts by slices that last so long (block/blk-throttle.c:DFL_THROTL_SLICE)."""

_BYTES = (LimitedResource.READ_BYTES, LimitedResource.WRITE_BYTES)
_LIMITS: tuple[tuple[LimitedResource, LimitedResource], ...] = (
    (LimitedResource.READ_BYTES, LimitedResource.READ_IOS),
    (LimitedResource.WRITE_BYTES, LimitedResource.WRITE_IOS),
)


@dataclass(frozen=True)
class Limited:
    """Throttled ios, each with the limit that it waits for."""

    cgroup: Times
    """Whose limit it is."""
    by_bytes: npt.NDArray[np.bool_]
    """It is one of bytes; False for one of ios, and where it is not known which."""


@dataclass(frozen=True)
class IoMax:
    """The limits of cgroups on devices."""

    trace: Trace

    @cached_property
    def _cgroups(self) -> Cgroups:
        return Cgroups.of(self.trace)

    @cached_property
    def _of_io(self) -> Times:
        cgroup: Times = self.trace.rows[IO.name]["cgroup_id"].astype(np.int64)
        return cgroup

    def rounds(self, io: Index, lo: Times, hi: Times) -> Iterator[tuple[Positions, Ios, Measure]]:
        """Yield waits that can be judged together, and the ios, with the shared limit as device.

        ``io`` waits in [lo, hi). Cgroups of one depth are never within each other.
        """
        limited = self._limited(io, lo, hi)
        depth = np.array([len(self._cgroups.path(one)) - 1 for one in limited.cgroup.tolist()], int)
        for by_bytes in (False, True):
            for one in np.unique(depth[limited.by_bytes == by_bytes]).tolist():
                above = self._cgroups.at_depth(self._of_io, one)
                shared = group_codes(self.trace.ios.dev, above).astype("u4")
                at = np.flatnonzero((depth == one) & (limited.by_bytes == by_bytes))
                yield at, replace(self.trace.ios, dev=shared), "bytes" if by_bytes else "ios"

    def _limited(self, io: Index, lo: Times, hi: Times) -> Limited:
        ios, own = self.trace.ios, self._of_io[io]
        cgroup, by_bytes = own.copy(), np.zeros(len(io), bool)
        is_write = ios.op[io] & 1  # as the kernel tells them apart: bio_data_dir()
        alike = group_codes(ios.dev[io], own, is_write)
        for group in np.unique(alike).tolist():
            at = np.flatnonzero(alike == group)
            dev, which = int(ios.dev[io[at[0]]]), int(is_write[at[0]])
            limits = self._cgroups.limits_for(int(own[at[0]]), _LIMITS[which], dev)
            if not limits:
                continue
            used = [self._used(limit, dev, which, lo[at], hi[at]) for limit in limits]
            # Of equals the innermost one.
            last = len(limits) - 1 - np.argmax(np.stack(used)[::-1], axis=0)
            cgroup[at] = np.array([limit.cgroup for limit in limits])[last]
            of_bytes = [limit.resource in _BYTES for limit in limits]
            by_bytes[at] = np.array(of_bytes)[last]
        return Limited(cgroup, by_bytes)

    def _used(
        self, limit: Limit, dev: int, is_write: int, lo: Times, hi: Times
    ) -> npt.NDArray[np.float64]:
        """Return what part of a limit was used up to the end of each wait."""
        ios = self.trace.ios
        let_in = (ios.dev == dev) & (ios.op & 1 == is_write)
        let_in &= self._cgroups.is_within(self._of_io, limit.cgroup)
        order = np.argsort(ios.got[let_in], kind="stable")
        size = ios.bytes[let_in][order] if limit.resource in _BYTES else np.ones(len(order))
        total = np.concatenate(([0], np.cumsum(size.astype(np.int64))))
        moments = ios.got[let_in][order]
        until, since = (total[np.searchsorted(moments, time)] for time in (hi, lo - LOOKBACK_NS))
        return limit.used(until - since, lo - LOOKBACK_NS, hi)
