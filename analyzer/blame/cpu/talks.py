"""Who talks with whom: the processes whose tasks woke a thread that waited for a message.

A client takes a CPU to send its next request and to read an answer, as its server takes one to
work. Where they share a CPU, a request waits for the client of its own server::

    server   |-- runnable --|  works    |  sleeps: poll   |
    client   |  asks another server     |        asks it  |

That time is a part of the load that the foreground serves, and no inversion: a client without a
role is no suspect for the CPU time of the threads that it talks with. What a client does to a disk
is another matter, and so is a background task's CPU time: a rule says whose work it does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import Index, Times, Trace

MESSAGES = (CODE["network"], CODE["pipe"], CODE["poll"])
"""Waits that a message ends. Who ends another wait for a peer, as by a file lock, asked nothing."""

_PID_BITS = 32


@dataclass(frozen=True)
class Talks:
    """Pairs of a thread and a process that woke it from waits for a message."""

    thread: Times
    """Thread of each task."""
    pid: Times
    """Process of each task; 0 and below: none that can be told from others."""
    pairs: Times
    """Sorted, ``thread << 32 | pid``."""

    @staticmethod
    def of(trace: Trace) -> Talks:
        """Find the pairs in all sleeps of a recording, within requests and between them."""
        sleeps, tasks = trace.sleeps, trace.tasks
        thread, pid = tasks.thread.astype(np.int64), tasks.pid.astype(np.int64)
        at = np.flatnonzero(np.isin(sleeps.reason, MESSAGES) & (sleeps.waker_utid >= 0))
        waker = pid[sleeps.waker_utid[at]]
        pairs = np.unique(_pair(thread[sleeps.utid[at]], waker)[waker > 0])
        return Talks(thread, pid, pairs)

    def among(self, utid: Index, other: Index) -> npt.NDArray[np.bool_]:
        """Return which tasks (-1: none) were woken by the process of the other ones (-1: none)."""
        pair = _pair(self.thread[utid], self.pid[other])
        found: npt.NDArray[np.bool_] = np.isin(pair, self.pairs)
        return found & (utid >= 0) & (other >= 0)


def _pair(thread: Times, pid: Times) -> Times:
    return thread << _PID_BITS | pid
