"""Ios that a stacked device does for one bio: who waits for the bio needs all of them.

dm-snapshot copies a chunk before it queues a bio below; a thread of the device does one such thing
after another. Who waits for its bio seems to wait for all that the thread waits for::

    request                |~~~~~~~~~~~~~~~ waits for its bio ~~~~~~~~~~~~~~~~|
    thread, for the backup | write ~~~~~~~~|
    thread, for the bio    |read of the chunk ~~~|  write ~~~|  the bio itself ~~|

The read takes its time anyway, so that the thread is late for the bio only by what comes after it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class OneBio:
    """The ios below stacked devices, by the bio at the uppermost device that each is for."""

    io: npt.NDArray[np.intp]
    bio: Times
    """A number, the same for all ios of one bio."""
    of_wait: Times
    """Of each edge, the bio that it waits for; -1 for none."""

    @staticmethod
    def of(trace: Trace, edges: Edges) -> OneBio:
        """Find the waits that end with the last io of a bio that the waiter has queued.

        And the other ios of these bios.
        """
        ios, layers = trace.ios, trace.layers
        at = np.flatnonzero((layers.io >= 0) & (layers.owner >= 0) & (layers.parent < 0))
        of_wait = np.full(len(edges), -1, np.int64)
        if not len(at):
            return OneBio(at, of_wait[:0], of_wait)
        owner = layers.owner[at].astype(np.int64)
        when = layers.queued[at] - layers.queued[at].min()
        _, bio = np.unique(when * len(trace.tasks) + owner, return_inverse=True)
        of_io: Times = np.full(len(ios), -1, np.int64)
        owner_of: Index = np.full(len(ios), -1, np.int32)
        of_io[layers.io[at]], owner_of[layers.io[at]] = bio, owner
        edge = np.flatnonzero(edges.io >= 0)
        edge = edge[owner_of[edges.io[edge]] == edges.waiter[edge]]
        of_wait[edge] = of_io[edges.io[edge]]
        io = np.setdiff1d(np.flatnonzero(of_io >= 0), edges.io[edge])
        return OneBio(io, of_io[io], of_wait)
