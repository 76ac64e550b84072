"""The ios of devices served again without a culprit's, each arriving when it did.

A device's ios are served in the order in which they completed. What an io adds is the time from the
last completion, or from its own arrival if that was later, to its own completion. Served again, it
begins when it arrived or when those before it are done; a culprit's adds nothing::

    recorded    A |----|            predicted    A |----|
    culprit     X      |----|
                B           |--|                 B      |--|     (it arrived before A was done)

So what piled up behind the culprit dissolves. This is right where work arrives by a schedule of its
own. A client that waits for its answers arrives earlier instead (``DeviceTime``).
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.whatif.columns import Floats, IoRows


def saved_without(disks: IoRows, part: Floats) -> Times:
    """Return by how many ns each io would complete earlier; ``part`` is the culprit's of each."""
    saved = np.zeros(len(disks), np.int64)
    for on in disks.once(_by_completion):
        if part[on].any():
            saved[on] = _served_again(disks, on, part[on])
    return saved


def _by_completion(disks: IoRows) -> list[Index]:
    """Return the ios of each device in the order in which they completed."""
    return [
        on[np.argsort(disks.completed[on], kind="stable")].astype(np.int32)
        for _, on in disks.once(IoRows.by_device)
    ]


def _served_again(disks: IoRows, on: Index, part: Floats) -> Times:
    """Return what the ios ``on`` of one device save, in the order of their completion.

    An io is done at ``max(done of the one before + its own, its arrival + its own)``. Less the sum
    of all own times up to it, that is the latest of such sums, so no step is needed for each io.
    """
    queued, completed = disks.queued[on], disks.completed[on]
    added = completed - np.maximum(queued, np.r_[0, completed[:-1]])
    own = np.where(part < 1, np.rint(added * (1 - part)).astype(np.int64), 0)
    # A culprit's io ends nothing: those before it do.
    earliest = np.where(part < 1, queued + own, 0)
    alone = queued + disks.once(IoRows.alone_ns)[on]
    earliest = np.where(part == 0, np.maximum(earliest, alone), earliest)
    before = np.cumsum(own)
    done: Times = np.maximum.accumulate(earliest - before) + before
    saved: Times = completed - np.maximum(done, before)
    return saved
