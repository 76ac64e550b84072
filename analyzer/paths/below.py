"""What is below an io of a loop device: the worker that did it, and the io that ended it.

The time [D, C) of such an io is not that of a device. It is what the worker did until it was done,
or until it had queued the io below that ended it, then that io's, then the completion's::

    io 1 of loop0   |Q D------------------------------- C|
    loop's worker          |-- serves io 1 --|
    io 2 of sda                          |Q D -------C|

    path:   queue, worker (from D to Q of io 2), io 2, device (its completion, to C)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.layers import Layers
from rcp.analyzer.arrays.trace import Index, Ios, Times

MAX_LAYERS = 8
"""Loop devices on each other's files; damaged records could form a circle."""


class Parts(NamedTuple):
    """Of each interval [d, hi) of an io at its device: the worker has [d, u), the io below
    [u, v), the device itself the rest."""

    worker: Index
    """-1 for none: then u is d, or the io below was queued by an unknown task."""
    u: Times
    child: Index
    """-1 for none: then v is u."""
    v: Times


class Below:
    """What is below each io."""

    def __init__(self, layers: Layers, ios: Ios) -> None:
        """Find the last worker of each io, and the io below that ended last."""
        count = len(ios)
        self._ios = ios
        self._worker, self._child = np.full((2, count), -1, np.int32)
        self._done = np.zeros(count, np.int64)
        known = np.flatnonzero(layers.served >= 0)
        known = known[np.argsort(layers.end[known], kind="stable")]
        self._worker[layers.served[known]] = layers.worker[known]
        self._done[layers.served[known]] = layers.end[known]
        part = np.flatnonzero((layers.io >= 0) & (layers.parent >= 0))
        child, parent = layers.io[part], layers.parent[part]
        # an io that ended later was not waited for, nor one of which the worker saw the end
        ended = ios.completed[child] if count else np.zeros(0, np.int64)
        by_it = (ended <= ios.completed[parent]) & (ended > self._done[parent])
        child, parent = child[by_it], parent[by_it]
        order = np.argsort(ios.completed[child], kind="stable")
        self._child[parent[order]] = child[order]

    def parts(self, io: Index, d: Times, hi: Times) -> Parts:
        """Divide the intervals [d, hi) that ios of these positions were at their device."""
        worker, child = self._worker[io], self._child[io]
        queued = np.clip(self._ios.queued[child], d, hi)
        ended = np.clip(self._ios.completed[child], queued, hi)
        child = np.where((child >= 0) & (ended > queued), child, -1).astype(np.int32)
        done = np.where(worker >= 0, np.clip(self._done[io], d, hi), d)
        u = np.where(child >= 0, queued, done)
        return Parts(worker, u, child, np.where(child >= 0, ended, u))
