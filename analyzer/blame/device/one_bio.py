"""Ios that a stacked device does for one bio: who waits for the bio needs all of them.

dm-snapshot copies a chunk before it queues a bio below; a thread of the device does one such thing
after another. Who waits for its bio seems to wait for all that the thread waits for::

    request                |~~~~~~~~~~~~~~~ waits for its bio ~~~~~~~~~~~~~~~~|
    thread, for the backup | write ~~~~~~~~|
    thread, for the bio    |read of the chunk ~~~|  write ~~~|  the bio itself ~~|

The read takes its time anyway, so that the thread is late for the bio only by what comes after it.
That counts for what was done before the last io for the bio was queued, at the same device first.
What was done elsewhere before that may be for another part of the bio, which waits for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import ranges
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class OneBio:
    """Ios below stacked devices that come before the one with which a wait for a bio ends."""

    io: npt.NDArray[np.intp]
    wait: npt.NDArray[np.intp]
    """That wait, an edge; there is a row for each io and wait."""

    @staticmethod
    def of(trace: Trace, edges: Edges) -> OneBio:
        """Find those for bios that the waiters have queued themselves."""
        ios, layers = trace.ios, trace.layers
        at = np.flatnonzero((layers.io >= 0) & (layers.owner >= 0) & (layers.parent < 0))
        if not len(at):
            return OneBio(at, at)
        owner = layers.owner[at].astype(np.int64)
        when = layers.queued[at] - layers.queued[at].min()
        _, bio = np.unique(when * len(trace.tasks) + owner, return_inverse=True)
        of_io: Times = np.full(len(ios), -1, np.int64)
        owner_of: Index = np.full(len(ios), -1, np.int32)
        of_io[layers.io[at]], owner_of[layers.io[at]] = bio, owner
        wait = np.flatnonzero((edges.io >= 0) & (edges.waiter >= 0))
        wait = wait[owner_of[edges.io[wait]] == edges.waiter[wait]]
        order = np.argsort(of_io, kind="stable")
        first = np.searchsorted(of_io[order], of_io[edges.io[wait]], "left")
        last = np.searchsorted(of_io[order], of_io[edges.io[wait]], "right")
        row, place = ranges(first, last - first)
        io, wait = order[place], wait[row]
        comes_before = ios.completed[io] <= ios.queued[edges.io[wait]]
        here = comes_before & (ios.dev[io] == ios.dev[edges.io[wait]])
        read: Times = np.full(len(edges), np.iinfo(np.int64).max)
        np.minimum.at(read, wait[here], ios.completed[io[here]])
        comes_before &= here | (ios.queued[io] >= read[wait])
        return OneBio(io[comes_before], wait[comes_before])
