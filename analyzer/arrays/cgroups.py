"""The tree of cgroups, and the limits that count for one: its own and those of the cgroups above.

::

    /kubepods              depth 1
        /pod               depth 2    cpu.max: what both containers may use together
            /database      depth 3    cpu.max: what it may use itself
            /backup        depth 3

Recordings before rcp had these records, and cgroups of which the recorder has met no task, have no
parents: such a cgroup has nothing above it, and a depth of 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.cgroup_tree import parents, path_to
from rcp.analyzer.arrays.chunked import Records
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.probes.contract.events import CGROUP, CGROUP_LIMIT, LimitedResource

RESOURCES = ("unknown", *(resource.name.lower() for resource in LimitedResource))
"""Names of what is limited; the position is the code in records."""

ABOUT = 0.9
"""Where two limits were used to within a tenth of each other, either may be the one: then it is the
innermost, for only who is sure to be in the way is to be blamed."""

_FOUND_NS = 1_000_000
"""A limit is recorded at most so long after the end of a wait for it."""


@dataclass(frozen=True)
class CgroupLimit:
    """What a cgroup may use of a resource, as it was at different times."""

    cgroup: int
    resource: LimitedResource
    since: Times
    per_ns: npt.NDArray[np.float64]
    """Bytes, ios, or ns of CPU time for each ns; 0 where it has no limit."""
    period_ns: Times

    def at(self, time: Times) -> Index:
        """Return how it was at each time: a position in ``since``.

        Before it is known, as it was found first. It is found when a wait for it ends, or begins.
        """
        of_all = np.zeros(len(self.since), np.int64)
        found = asof_backward(of_all, self.since, np.zeros_like(time), time + _FOUND_NS)
        return np.maximum(found, 0)

    def used(self, amount: Times, dur: Times, time: Times) -> npt.NDArray[np.float64]:
        """Return what part of it, as it is at a time, an ``amount`` used in ``dur`` ns is."""
        most = self.per_ns[self.at(time)] * np.maximum(dur, 1)
        return np.where(most > 0, amount / np.where(most > 0, most, 1), 0)


def most_used(used: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.intp]:
    """Return of which limit (row) most was used at each time; of about equals, the last one."""
    is_most = np.stack(used) >= ABOUT * np.max(used, axis=0)
    last: npt.NDArray[np.intp] = len(used) - 1 - np.argmax(is_most[::-1], axis=0)
    return last


@dataclass(frozen=True)
class Cgroups:
    """The cgroups of a recording."""

    parent: Mapping[int, int]
    """By cgroup id: that above it, 0 for the root."""
    limits: Records
    """The cgroup_limit records."""

    @staticmethod
    def of(trace: Trace) -> Cgroups:
        """Take them from a recording."""
        return Cgroups(parents(trace.rows[CGROUP.name]), trace.rows[CGROUP_LIMIT.name])

    def path(self, cgroup: int) -> list[int]:
        """Return a cgroup and those above it, from above; the position is the depth."""
        return path_to(cgroup, self.parent)

    def at_depth(self, cgroup: npt.NDArray[np.integer], depth: int) -> Times:
        """Return which cgroup of a depth each one is, or is below; 0: none."""
        known, position = np.unique(cgroup.astype(np.int64), return_inverse=True)
        paths = (self.path(one) for one in known.tolist())
        above = [path[depth] if depth < len(path) else 0 for path in paths]
        return np.array(above, np.int64)[position] if len(above) else known

    def is_within(self, cgroup: npt.NDArray[np.integer], above: int) -> npt.NDArray[np.bool_]:
        """Tell which cgroups are ``above`` or below it."""
        within: npt.NDArray[np.bool_] = self.at_depth(cgroup, len(self.path(above)) - 1) == above
        return within

    def limits_for(
        self, cgroup: int, resources: tuple[LimitedResource, ...], dev: int = 0
    ) -> list[CgroupLimit]:
        """Return the limits that count for a cgroup: its own and those above, from above."""
        rows = self.limits[self.limits["dev"] == dev]
        found = []
        for above in self.path(cgroup):
            own = rows[rows["cgroup_id"] == above]
            for resource in resources:
                of = np.sort(own[own["resource"] == resource], order="ts")
                if len(of):
                    period_ns = np.maximum(of["period_us"].astype(np.int64) * 1000, 1)
                    since, per_ns = of["ts"].astype(np.int64), of["amount"] / period_ns
                    found.append(CgroupLimit(above, resource, since, per_ns, period_ns))
        return found
