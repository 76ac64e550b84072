"""What threads do themselves: on a CPU, at the device, and in waits for others' answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Ios, Sleeps, Times
from rcp.analyzer.paths.message_loops import ANSWERS


@dataclass(frozen=True)
class OwnTime:
    """The time of some threads without what they wait for otherwise, which may be suspects'."""

    others: Covers
    """When a thread waits for a CPU, a lock, a tag."""

    @staticmethod
    def of(sleeps: Sleeps, ios: Ios, thread: Times, threads: Times) -> OwnTime:
        """Look at the sleeps of ``threads``; ``thread``: by task."""
        at = np.flatnonzero(sleeps.of_threads(thread, threads) & ~sleeps.first_seen)
        io = sleeps.waker_io[at]
        issued = np.clip(np.append(ios.issued, 0)[io], sleeps.ts[at], sleeps.woken[at])
        # A tag is free when another io is done.
        own = (io >= 0) & (np.append(ios.submitter, -1)[io] == sleeps.utid[at])
        for_answer: npt.NDArray[np.bool_] = np.isin(sleeps.reason[at], ANSWERS)
        until = np.where(own, issued, np.where(for_answer, sleeps.ts[at], sleeps.woken[at]))
        of = thread[sleeps.utid[at]]
        begin = np.concatenate((sleeps.ts[at], sleeps.woken[at]))
        return OwnTime(Covers.of(np.r_[of, of], begin, np.concatenate((until, sleeps.run[at]))))

    def within(self, thread: Times, lo: Times, hi: Times) -> Times:
        """Return it in each [lo, hi) of a thread; ns."""
        return hi - lo - self.others.within(thread, lo, hi)
