"""Ios that a cgroup's io.max holds back, and whose ios were let in meanwhile.

The limit may be the io's own cgroup's or that of one above, and a cgroup may have four: bytes and
ios a second, of reads and writes. It is the one that the io itself would have exceeded most::

    pod            io.max 200 writes a second     20 let in within 100 ms, and the one that waits
      database     io.max 500 writes a second      1 let in
      backup                                      19 let in
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, group_codes
from rcp.analyzer.arrays.cgroups import CgroupLimit, Cgroups, most_used
from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.trace import OP_DISCARD, OP_FLUSH, Index, Ios, Times, Trace
from rcp.analyzer.blame.ahead import Windows, ios_ahead
from rcp.analyzer.blame.by_owner import Measure
from rcp.analyzer.blame.candidates import (
    KIND,
    Candidates,
    Positions,
    candidate_rows,
    no_candidates,
)
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.owners import SHARE_MIN
from rcp.analyzer.blame.paced import part_of_wait
from rcp.probes.contract.events import IO, LimitedResource

SLICES_NS = 100_000_000
"""blk-throttle counts by slices of a tenth of a second on disks, shorter ones on SSDs before v6.15
(block/blk-throttle.c:DFL_THROTL_SLICE_HD, DFL_THROTL_SLICE_SSD)."""

_DISCARDED_BYTES = 512
"""What a discard counts for, however long it is (block/blk-throttle.c:throtl_bio_data_size)."""

_BYTES = (LimitedResource.READ_BYTES, LimitedResource.WRITE_BYTES)
_RESOURCES_OF: tuple[tuple[LimitedResource, LimitedResource], ...] = (
    (LimitedResource.READ_BYTES, LimitedResource.READ_IOS),
    (LimitedResource.WRITE_BYTES, LimitedResource.WRITE_IOS),
)


def held_back(rules: Contention, chosen: Positions) -> Candidates:
    """Blame the suspects that used up a cgroup's io.max for ``chosen`` segments of throttled ios.

    The limit is a rate, so what counts is how much was let in, not for how long (``paced``).
    """
    segments, trace = rules.paths.segments, rules.trace
    found, kind = [no_candidates()], KIND["admission_slot"]
    if not len(chosen):
        return found[0]
    chosen = chosen[column_of(trace.rows[IO.name], "cgroup_id")[segments.io[chosen]] > 0]
    lo, io = segments.ts[chosen], segments.io[chosen]
    hi, party = lo + segments.dur[chosen], rules.parties.of_segments(segments, chosen)
    for at, ios, measure in _IoMax(trace).rounds(io, lo, hi):
        # What was let in shortly before has used it up as well.
        since, limit = lo[at] - SLICES_NS, ios.dev[io[at]].astype(np.int64)
        windows = Windows(since, hi[at], limit, party[at], io[at])
        ahead = ios_ahead(windows, ios, ios.got, rules.blame.io_excess, rules.suspects, measure)
        by = ahead.of_owners(ahead.guilty)
        of = at[ahead.guilty]
        of_all = ahead.share[ahead.guilty]
        turn = _since_turn(ios, io[of], hi[of], rules.suspects.kernel)
        part = part_of_wait(of_all, hi[of] - lo[of], turn, SLICES_NS)
        part = by.share * (part / np.maximum(of_all, SHARE_MIN))[by.row]
        segment = chosen[of[by.row]]
        dur, edge = segments.dur[segment], segments.edge[segment]
        found.append(candidate_rows(segment, kind, by.utid, dur, edge, edge, 1.0, by.beside, part))
    return Candidates.concatenate(found)


def _since_turn(ios: Ios, io: Index, until: Times, is_kernel: npt.NDArray[np.bool_]) -> Times:
    """Return how long before a time the submitter of each io had waited for one; -1 if it had not.

    Between two waits the kernel lets several in at once. A kernel thread has turns of all for whom
    it writes: theirs are not known. ``ios``: with the limit as device.
    """
    turns = np.flatnonzero(ios.throttled)
    whose = group_codes(ios.submitter, ios.dev)
    last = asof_backward(whose[turns], ios.got[turns], whose[io], ios.got[io] - 1)
    by_task = (ios.submitter[io] >= 0) & ~is_kernel[ios.submitter[io]]
    known = (last >= 0) & by_task
    return np.where(known, until - np.append(ios.got[turns], 0)[last], -1)


class _Limited(NamedTuple):
    """Throttled ios, each with the limit that it waits for."""

    cgroup: Times
    """Whose limit it is."""
    by_bytes: npt.NDArray[np.bool_]
    """It is one of bytes; False for one of ios, and where it is not known which."""


class _LetIn(NamedTuple):
    """The ios that count against a limit: when they were let in, and how much they are in all."""

    got: Times
    total: Times
    """Of the ios before each one; and of all."""


@dataclass(frozen=True)
class _IoMax:
    """The limits of cgroups on devices."""

    trace: Trace
    _let_in: dict[tuple[int, int, int, bool], _LetIn] = field(default_factory=dict)

    @cached_property
    def _cgroups(self) -> Cgroups:
        return Cgroups.of(self.trace)

    @cached_property
    def _of_io(self) -> tuple[Times, npt.NDArray[np.intp]]:
        """The cgroups of ios, and which of them each io has."""
        of_io = column_of(self.trace.rows[IO.name], "cgroup_id").astype(np.int64)
        known, position = np.unique(of_io, return_inverse=True)
        return known, position

    @cached_property
    def _is_write(self) -> Times:
        """As the kernel tells them apart (include/linux/blk_types.h:op_is_write)."""
        op = self.trace.ios.op.astype(np.int64)
        # A flush is for an empty write.
        is_write: Times = (op & 1) | (op == OP_FLUSH)
        return is_write

    @cached_property
    def _bytes(self) -> npt.NDArray[np.uint32]:
        ios = self.trace.ios
        return np.where(ios.op == OP_DISCARD, _DISCARDED_BYTES, ios.bytes).astype(np.uint32)

    def rounds(self, io: Index, lo: Times, hi: Times) -> Iterator[tuple[Positions, Ios, Measure]]:
        """Yield waits that can be judged together, and the ios, with the shared limit as device.

        ``io`` waits in [lo, hi). Cgroups of one depth are never within each other.
        """
        limited, (known, position) = self._limited(io, lo, hi), self._of_io
        depth = np.array([len(self._cgroups.path(one)) - 1 for one in limited.cgroup.tolist()], int)
        for by_bytes in (False, True):
            for one in np.unique(depth[limited.by_bytes == by_bytes]).tolist():
                above = self._cgroups.at_depth(known, one)[position]
                shared = group_codes(self.trace.ios.dev, above, self._is_write).astype("u4")
                ios = replace(self.trace.ios, dev=shared, bytes=self._bytes)
                at = np.flatnonzero((depth == one) & (limited.by_bytes == by_bytes))
                yield at, ios, "bytes" if by_bytes else "ios"

    def _limited(self, io: Index, lo: Times, hi: Times) -> _Limited:
        """Return which limits hold the ios back that wait in [lo, hi)."""
        known, position = self._of_io
        dev, own, is_write = self.trace.ios.dev[io], known[position[io]], self._is_write[io]
        cgroup, by_bytes = own.copy(), np.zeros(len(io), bool)
        alike = group_codes(dev, own, is_write)
        for group in np.unique(alike).tolist():
            at = np.flatnonzero(alike == group)
            of_dev, way = int(dev[at[0]]), int(is_write[at[0]])
            limits = self._cgroups.limits_for(int(own[at[0]]), _RESOURCES_OF[way], of_dev)
            if not limits:
                continue
            used = [self._used(limit, of_dev, way, io[at], lo[at], hi[at]) for limit in limits]
            which = most_used(used)
            cgroup[at] = np.array([limit.cgroup for limit in limits])[which]
            by_bytes[at] = np.array([limit.resource in _BYTES for limit in limits])[which]
        return _Limited(cgroup, by_bytes)

    def _used(
        self, limit: CgroupLimit, dev: int, way: int, io: Index, lo: Times, hi: Times
    ) -> npt.NDArray[np.float64]:
        """Return what part of a limit would have been used, had each io been let in at once."""
        of_bytes = limit.resource in _BYTES
        key = (limit.cgroup, dev, way, of_bytes)
        if key not in self._let_in:
            self._let_in[key] = self._let_in_of(*key)
        got, total = self._let_in[key]
        since, until = (np.searchsorted(got, time) for time in (lo - SLICES_NS, hi))
        itself = self._bytes[io].astype(np.int64) if of_bytes else 1
        return limit.used(total[until] - total[since] + itself, hi - lo + SLICES_NS, hi)

    def _let_in_of(self, cgroup: int, dev: int, way: int, of_bytes: bool) -> _LetIn:
        ios, (known, position) = self.trace.ios, self._of_io
        within = self._cgroups.is_within(known, cgroup)[position]
        chosen = np.flatnonzero(within & (ios.dev == dev) & (self._is_write == way))
        chosen = chosen[np.argsort(ios.got[chosen], kind="stable")]
        size = self._bytes[chosen].astype(np.int64) if of_bytes else np.ones(len(chosen), np.int64)
        return _LetIn(ios.got[chosen], np.concatenate(([0], np.cumsum(size))))
