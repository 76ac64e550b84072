"""How threads have a kernel lock: to read or to write it, by their last waits for it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.trace import Index, Records, Sleeps, Times, Trace
from rcp.probes.contract.events import LOCK_WAIT


@dataclass(frozen=True)
class LastWaits:
    """The waits for kernel locks of a recording."""

    sleeps: Sleeps
    waiter: Times
    """Thread."""
    rows: Records
    """``lock_wait``, and one more row for no wait."""

    @staticmethod
    def of(trace: Trace) -> LastWaits:
        """Take those of a recording."""
        rows, thread = trace.rows[LOCK_WAIT.name], trace.tasks.thread.astype(np.int64)
        none = np.zeros(1, rows.dtype)
        return LastWaits(
            trace.sleeps, thread[trace.utids[LOCK_WAIT.name]], np.concatenate((rows, none))
        )

    def kind(self, thread: Times, time: Times, of: Index) -> Times:
        """Return the ``LockType`` of each thread's last wait by a time, if for sleep ``of``'s lock.

        It must have got the lock after that sleep began: an older wait tells nothing of how it has
        it now. -1: it has not waited for it.
        """
        rows = self.rows
        at = asof_backward(self.waiter, rows["ts"][:-1].astype(np.int64), thread, time)
        since = self.sleeps.ts[of].astype(np.uint64)
        is_of = (at >= 0) & (rows["lock"][at] == self.sleeps.object[of])
        is_of &= rows["end_ns"][at] > since
        return np.where(is_of, rows["type"][at].astype(np.int64), -1)
