"""A worker's own time: it works for the ios of several tasks, one after the other.

A request waits for a loop device's worker, or for dm-crypt to encrypt its data. What the worker
does first for ios of the culprit's is gone::

    request    | waits for the worker                    |
    worker     | for the backup | for the request         |

For those that is recorded. Other kernel threads work for an io until they queue it at its device,
and then hand it over to the driver, which may copy its data::

    writeback  | before io 1 | before io 2, 3 | hands io 3 over | something else
    queues                 io 1            io 2, 3
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, rows_between
from rcp.analyzer.arrays.trace import PAGE_BYTES, Index, Times
from rcp.analyzer.blame.worked_for import (
    PREPARE_NS,
    PREPARE_PAGE_NS,
    WorkedFor,
    since_last,
    until_next,
)
from rcp.analyzer.whatif.columns import Floats, Places, Recorded, ServedRows


def worked_for(recorded: Recorded, utids: Times, part: Floats) -> tuple[Places, Times]:
    """Return segments in which kernel threads run, and for how many ns they do for the culprit.

    ``utids``: the culprit's tasks; ``part``: its part of each io.
    """
    served, queued = recorded.served, recorded.once(_queued)
    size = np.bincount(queued.at, queued.weight, len(queued.pieces.end))
    share = np.bincount(queued.at, queued.weight * part[queued.io], len(size)) / size
    ns = _within(recorded, served.once(_pieces), np.isin(served.owner, utids).astype(float))
    return recorded.once(_of_helpers), ns + _within(recorded, queued.pieces, share)


class _PiecesOfWork(NamedTuple):
    """Pieces of work [begin, end) by worker and time; those of one worker are disjoint."""

    worker: Times
    begin: Times
    end: Times


def _pieces(served: ServedRows) -> _PiecesOfWork:
    # A damaged recording may have a worker at two ios at once.
    end = until_next(served.worker, served.ts, served.end_ns)
    return _PiecesOfWork(served.worker, served.ts, end)


class _QueuedByHelpers(NamedTuple):
    """Ios that kernel threads queue, and their work on those that they queue at once."""

    pieces: _PiecesOfWork
    io: Places
    at: Places
    """Its piece."""
    weight: Times
    """Its bytes, at least one."""


def _queued(recorded: Recorded) -> _QueuedByHelpers:
    """Return what kernel threads do for ios, but for what is recorded of that."""
    disks, helpers = recorded.disks, recorded.segments.utid[recorded.once(_of_helpers)]
    io = np.flatnonzero(np.isin(disks.helper, np.unique(helpers)))
    io = io[np.lexsort((disks.queued[io], disks.helper[io]))]
    weight, worker, when = np.maximum(disks.bytes[io], 1), disks.helper[io], disks.queued[io]
    first = np.flatnonzero(np.diff(worker, prepend=-1) | np.diff(when, prepend=-1))
    at = np.searchsorted(first, np.arange(len(io)), "right") - 1
    worker, when = worker[first], when[first]
    begin = since_last(worker, when)
    n_pages = np.bincount(at, weight, len(first)) / PAGE_BYTES
    end = when + (PREPARE_NS + PREPARE_PAGE_NS * n_pages).astype(np.int64)
    end = until_next(worker, begin, end)
    begin, end = _not_known(recorded, worker, when, begin, end)
    return _QueuedByHelpers(_PiecesOfWork(worker, begin, end), io, at, weight)


def _not_known(
    recorded: Recorded, worker: Times, when: Times, begin: Times, end: Times
) -> tuple[Times, Times]:
    """Return what of [begin, end) around ``when`` is not in a recorded piece of the worker's."""
    known = recorded.served.once(_pieces)
    last = asof_backward(known.worker, known.begin, worker, when)
    until = np.append(known.end, 0)[last]
    after, _ = rows_between(known.worker, known.begin, worker, when, when)
    follows = np.append(known.worker, -1)[after] == worker
    end = np.where(follows, np.minimum(end, np.append(known.begin, 0)[after]), end)
    return np.clip(until, begin, when), np.where(until > when, when, end)


def _within(recorded: Recorded, pieces: _PiecesOfWork, share: Floats) -> Times:
    """Return how long the pieces within segments of helpers take, by their shares."""
    segments, at, some = recorded.segments, recorded.once(_of_helpers), np.flatnonzero(share)
    if not len(at) or not len(some):
        return np.zeros(len(at), np.int64)
    utid, begin, worker = segments.utid[at], segments.ts[at], pieces.worker[some]
    thread = np.arange(max(int(utid.max()), int(worker.max())) + 1)
    one = np.zeros(len(some), np.int32)
    work = WorkedFor(thread, worker, pieces.begin[some], pieces.end[some], one, share[some])
    ns, _ = work.time(utid, begin, begin + segments.dur[at], np.ones(1, bool))
    return ns


def _of_helpers(recorded: Recorded) -> Index:
    """Return the segments in which a task that is waited for has a CPU, but no request's own."""
    segments, requests = recorded.segments, recorded.requests
    is_own = np.isin(segments.utid, np.unique(requests.utid)) | (segments.utid < 0)
    return np.flatnonzero(segments.is_own_time & (segments.edge >= 0) & ~is_own).astype(np.int32)
