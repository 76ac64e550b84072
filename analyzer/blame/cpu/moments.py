"""The moments and CPUs at which anybody waited for a CPU: what ran at others does not matter."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Times


@dataclass(frozen=True)
class Moments:
    """Times that waits cover, as disjoint pieces in order; and which CPUs were waited for."""

    begin: Times
    end: Times
    cpus: npt.NDArray[np.bool_]

    @staticmethod
    def of(cpu: Times, lo: Times, hi: Times) -> Moments:
        """Return those of waits [lo, hi) for CPUs; -1 for one that is not known."""
        order = np.argsort(lo, kind="stable")
        lo, hi = lo[order], np.maximum.accumulate(hi[order])
        is_new = np.flatnonzero(np.r_[True, lo[1:] > hi[:-1]][: len(lo)])
        last = np.r_[is_new[1:], len(lo)][: len(is_new)] - 1
        cpus = np.zeros(int(cpu.max(initial=-1)) + 1, bool)
        cpus[cpu[cpu >= 0]] = True
        return Moments(lo[is_new], hi[last], cpus)

    def has_cpu(self, cpu: npt.NDArray[np.integer]) -> npt.NDArray[np.bool_]:
        """Return which of the CPUs anybody waited for."""
        found: npt.NDArray[np.bool_] = np.append(self.cpus, False)[np.minimum(cpu, len(self.cpus))]
        return found

    def overlap(self, begin: Times, end: Times) -> npt.NDArray[np.bool_]:
        """Return in which [begin, end) anybody waited."""
        next_one = np.searchsorted(self.end, begin, "right")
        begins = np.append(self.begin, np.iinfo(np.int64).max)[next_one]
        found: npt.NDArray[np.bool_] = begins < end
        return found
