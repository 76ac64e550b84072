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

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.whatif.recorded import Floats, IoRows


def saved_without(disks: IoRows, part: Floats) -> Times:
    """Return by how many ns each io would complete earlier; ``part`` is the culprit's of each."""
    saved = np.zeros(len(disks), np.int64)
    for dev in np.unique(disks.dev):
        on = np.flatnonzero(disks.dev == dev)
        if part[on].any():
            on = on[np.argsort(disks.completed[on], kind="stable")]
            saved[on] = _served_again(disks, on, part[on])
    return saved


def _served_again(disks: IoRows, on: Times, part: Floats) -> list[int]:
    saved = []
    last = done = 0
    alone_ns = np.minimum(disks.solo_ns[on], disks.completed[on] - disks.issued[on])
    rows = zip(
        disks.queued[on].tolist(),
        disks.completed[on].tolist(),
        alone_ns.tolist(),
        part.tolist(),
        strict=True,
    )
    for queued, completed, alone, share in rows:
        added = completed - max(queued, last)
        last = completed
        if share < 1:
            served = max(queued, done) + round(added * (1 - share))
            done = max(served, queued + alone) if share == 0 else served
        saved.append(completed - done)
    return saved
