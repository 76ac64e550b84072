"""What of a wait on a chain its culprit is to blame for.

It is all, with these exceptions:

* Of a commit's log: what is after the rest was written (``journal.commits``).
* Of another one's read: what is longer than one of the waiter's own, if that wants the data. So of
  the first read of who has the page or buffer locked.
* Of what is before a flush of the waiter's own: what all took longer than that one alone would
  have, as it would have had to write what flushes before it wrote::

      suspect's fsync  |~~~~ flush 7 ~~~~|
      fsync                  |~~~~~~~~~~~|- flush 8 -|       both: 600 µs
      alone                  |---- flush ----|               one page: 450 µs; blamed: 150 µs
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Times
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.device.needed_reads import blamed_from, needed, own_reads
from rcp.analyzer.blame.flushes import FlushCache, lacking_ns
from rcp.analyzer.blame.journal.commits import LogExcess
from rcp.analyzer.paths.segments import Edges, Paths


def blamed_ns(
    paths: Paths, flushes: FlushCache, log: LogExcess, chosen: Positions, edge: Index
) -> Times:
    """Return the time of the segments ``chosen`` that the culprits of ``edge`` are to blame for."""
    segments, edges = paths.segments, paths.edges
    ts, io = segments.ts[chosen], edges.io[edge]
    end = ts + segments.dur[chosen]
    begin = np.where(io >= 0, log.begin_of(io), 0)
    reads = own_reads(flushes.ios, io)
    is_read = (reads.own_ns > 0) & (io >= 0) & wants_data(edges, edge)
    wait = edges.ts[edge], edges.ts[edge] + edges.dur[edge]
    begin = np.where(is_read, blamed_from(*wait, reads), begin)
    end = np.minimum(end, _flushed_anyway(edges, flushes, edge))
    begin = np.maximum(ts, begin)
    own = needed(edges, flushes.ios, flushes.suspects.kernel, edge)
    own_ns = np.minimum(end, own.end) - np.maximum(begin, own.begin)
    blamed: Times = np.maximum(end - begin - np.maximum(own_ns, 0), 0)
    return blamed


def wants_data(edges: Edges, edge: Index) -> npt.NDArray[np.bool_]:
    """Return which waits for ios are for their data; a truncation waits for reads to be over.

    It is a wait for a lock (inode_dio_wait, fs/inode.c).
    """
    wants: npt.NDArray[np.bool_] = edges.reason[edge] != CODE["lock"]
    return wants


def _flushed_anyway(edges: Edges, flushes: FlushCache, edge: Index) -> Times:
    """Return from when on a flush of the waiter's own would take place, for chains before one."""
    begin = np.full(len(edge), np.iinfo(np.int64).max)
    at_io = np.flatnonzero(edges.io >= 0)
    is_flush, flushed = np.zeros(len(edges), bool), np.zeros(len(edges), bool)
    is_flush[at_io] = flushes.ios.op[edges.io[at_io]] == OP_FLUSH
    # The kernel flushes nothing while a write that waited for a flush is at the device.
    flushed[at_io] = flushes.ios.asks_flush[edges.io[at_io]]
    dev = np.full(len(edges), -1, np.int64)
    dev[at_io] = flushes.ios.dev[edges.io[at_io]]
    own = np.append(_around(edges, is_flush, dev), -1)
    some = np.flatnonzero(own[edge] >= 0)
    before = np.flatnonzero(flushed & (own[:-1] >= 0))
    if not len(some) or not len(before):
        return begin
    wait, of = np.unique(own[before], return_inverse=True)
    io = edges.io[wait]
    lacking = lacking_ns(flushes, edges.io[before], of, io)
    at = np.minimum(np.searchsorted(wait, own[edge[some]]), len(wait) - 1)
    found = wait[at] == own[edge[some]]
    begin[some[found]] = (flushes.ios.queued[io] - lacking)[at[found]]
    return begin


def _around(edges: Edges, chosen: npt.NDArray[np.bool_], dev: Times) -> Index:
    """Return the nearest of the chosen edges above each edge, or -1.

    Not from an io of another device on (``dev``: -1 for tasks): a flush of a loop device is an
    fsync of its file, whose commits and flushes do not find what is in the loop device's cache.
    """
    found = np.full(len(edges), -1, np.int32)
    for depth in range(1, int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        above = edges.parent[at]
        nearest = np.where(chosen[above], above, found[above])
        is_below = (nearest >= 0) & (dev[at] >= 0) & (dev[nearest] != dev[at])
        found[at] = np.where(is_below, -1, nearest)
    return found
