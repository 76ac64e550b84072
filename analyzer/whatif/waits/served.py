"""A worker's own time: it works for the ios of several tasks, one after the other.

A request waits for a loop device's worker, or for dm-crypt to encrypt its data. What the worker
does first for ios of the culprit's is gone::

    request    | waits for the worker                    |
    worker     | for the backup | for the request         |

For those that is recorded. Other kernel threads work for an io until they queue it at its device.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS
from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.whatif.columns import Floats, IoRows, Places, Recorded, ServedRows


def worked_for(recorded: Recorded, utids: Times) -> tuple[Places, Times]:
    """Return segments in which workers run, and how long they do that for these tasks, in ns."""
    served = recorded.served
    if not np.isin(served.owner, utids).any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return _within(recorded, served.once(_pieces), np.isin(served.owner, utids).astype(float))


def prepared(recorded: Recorded, part: Floats) -> tuple[Places, Times]:
    """Return segments in which kernel threads run, and how long they do that for the culprit's ios.

    ``part``: the culprit's part of each io.
    """
    pieces = recorded.disks.once(_before_ios)
    share = part[pieces.of]
    if not share.any():
        return np.empty(0, np.int64), np.empty(0, np.int64)
    return _within(recorded, pieces, share)


class _Pieces(NamedTuple):
    """Pieces of work [begin, end) by worker and time; those of one worker are disjoint."""

    of: Places
    """The row of each: of an io, or of who was served."""
    worker: Times
    begin: Times
    end: Times


def _pieces(served: ServedRows) -> _Pieces:
    # A damaged recording may have a worker at two ios at once: each ends where the next one begins.
    end = served.end_ns.copy()
    same = served.worker[1:] == served.worker[:-1]
    end[:-1] = np.where(same, np.minimum(end[:-1], served.ts[1:]), end[:-1])
    return _Pieces(np.arange(len(served)), served.worker, served.ts, end)


def _before_ios(disks: IoRows) -> _Pieces:
    of = np.flatnonzero(disks.queuer >= 0)
    of = of[np.lexsort((disks.queued[of], disks.queuer[of]))]
    worker, end = disks.queuer[of], disks.queued[of]
    begin = end - SUBMIT_DELAY_NS
    same = worker[1:] == worker[:-1]
    begin[1:] = np.where(same, np.maximum(begin[1:], end[:-1]), begin[1:])
    return _Pieces(of, worker, begin, end)


def _within(recorded: Recorded, pieces: _Pieces, share: Floats) -> tuple[Places, Times]:
    """Return the segments of helpers, and how long the pieces within take, by their shares."""
    segments, at = recorded.segments, recorded.once(_of_helpers)
    utid, begin = segments.utid[at], segments.ts[at]
    most = max(int(utid.max(initial=-1)), int(pieces.worker.max(initial=-1)))
    one = np.zeros(len(share), np.int32)
    work = WorkedFor(np.arange(most + 1), pieces.worker, pieces.begin, pieces.end, one, share)
    ns, _ = work.time(utid, begin, begin + segments.dur[at], np.ones(1, bool))
    return at, ns


def _of_helpers(recorded: Recorded) -> Index:
    """Return the segments in which a task that is waited for has a CPU, but no request's own."""
    segments, requests = recorded.segments, recorded.requests
    is_own = np.isin(segments.utid, np.unique(requests.utid))
    return np.flatnonzero(segments.is_own_time & (segments.edge >= 0) & ~is_own).astype(np.int32)
