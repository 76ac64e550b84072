"""Ios that a stacked device does for one bio: who waits for the last one needs some before it.

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

from rcp.analyzer.arrays.as_of import group_codes, ranges
from rcp.analyzer.arrays.trace import Times, Trace
from rcp.analyzer.blame.origins import Origins, origins_of
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
        ios, above = trace.ios, origins_of(trace, of_loops=False)
        if not len(above.stacked):
            return OneBio(above.stacked, above.stacked)
        io, wait = _of_one_bio(_bios(above, len(ios)), above, edges)
        comes_before = ios.completed[io] <= ios.queued[edges.io[wait]]
        here = comes_before & (ios.dev[io] == ios.dev[edges.io[wait]])
        read: Times = np.full(len(edges), np.iinfo(np.int64).max)
        np.minimum.at(read, wait[here], ios.completed[io[here]])
        comes_before &= here | (ios.queued[io] >= read[wait])
        return OneBio(io[comes_before], wait[comes_before])


def _bios(above: Origins, n_ios: int) -> Times:
    """Number the bios by who queued them when; by io, -1 for one below no stacked device."""
    found: Times = np.full(n_ios, -1, np.int64)
    found[above.stacked] = group_codes(above.queued[above.stacked], above.queuer[above.stacked])
    return found


def _of_one_bio(
    bio: Times, above: Origins, edges: Edges
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the ios of the bios that waiters have queued themselves, and the waits for them."""
    wait = np.flatnonzero((edges.io >= 0) & (edges.waiter >= 0))
    last = edges.io[wait]
    wait = wait[(bio[last] >= 0) & (above.queuer[last] == edges.waiter[wait])]
    io = above.stacked[np.argsort(bio[above.stacked], kind="stable")]
    count = np.bincount(bio[io])
    of = bio[edges.io[wait]]
    row, place = ranges((np.cumsum(count) - count)[of], count[of])
    return io[place], wait[row]
