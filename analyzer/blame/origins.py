"""For whom ios below stacked devices (dm, md, loop) are.

The task that queued such an io is a thread of the device, such as dmcrypt_write or a kworker. Whose
it is was recorded where the bio came in at the uppermost device (``io_origin``). An io below a loop
device is whose the loop device's io is, with the same shares.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.paths.below import MAX_LAYERS


class Origins(NamedTuple):
    """Of each io: who queued it at the uppermost device, and when."""

    queuer: Index
    queued: Times
    stacked: Times
    """Positions of the ios below a stacked device."""


def origins_of(trace: Trace, *, of_loops: bool = True) -> Origins:
    """Return them; an io that is below no stacked device was queued by its submitter.

    ``of_loops``: or else so was an io below a loop device.
    """
    ios, layers = trace.ios, trace.layers
    counts = (layers.io >= 0) & (layers.owner >= 0)
    known = np.flatnonzero(counts if of_loops else counts & (layers.parent < 0))
    if not len(known):
        return Origins(ios.submitter, ios.queued, known)
    queuer, queued = ios.submitter.copy(), ios.queued.copy()
    io = layers.io[known]
    queuer[io], queued[io] = layers.owner[known], layers.queued[known]
    return Origins(queuer, queued, np.unique(io).astype(np.int64))


class Queued(NamedTuple):
    """Ios and who queued each; one below dm or md twice: by whom above, and by its own thread."""

    io: Times
    queuer: Index
    queued: Times


def all_queued(trace: Trace) -> Queued:
    """Return them."""
    ios, above = trace.ios, origins_of(trace, of_loops=False)
    io = np.concatenate((np.arange(len(ios)), above.stacked))
    queuer = np.concatenate((ios.submitter, above.queuer[above.stacked]))
    return Queued(io, queuer, np.concatenate((ios.queued, above.queued[above.stacked])))


def inherit_sets(
    trace: Trace, of_io: Index, kind: np.ndarray[tuple[int], np.dtype[np.int8]]
) -> None:
    """Give ios below loop devices the cause set of the io they are part of, if they have none."""
    layers = trace.layers
    part = np.flatnonzero((layers.io >= 0) & (layers.parent >= 0))
    # One level a round: the io of a loop device may itself be below another.
    for _ in range(MAX_LAYERS):
        child, parent = layers.io[part], layers.parent[part]
        new = (of_io[child] < 0) & (of_io[parent] >= 0)
        if not new.any():
            return
        of_io[child[new]] = of_io[parent[new]]
        kind[child[new]] = kind[parent[new]]
