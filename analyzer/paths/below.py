"""What is below an io of a loop device, and below a read of dm-crypt.

The time [D, C) of such an io is not that of a device. It is what the worker did until it was done,
or until it had queued the io below that ended it, then that io's, then the completion's::

    io 1 of loop0   |Q D------------------------------- C|
    loop's worker          |-- serves io 1 --|
    io 2 of sda                          |Q D -------C|

    path:   queue, worker (from D to Q of io 2), io 2, who ended io 1 then (to C)

That may be another worker, which wants a CPU for it. Of an interrupt it is the device's time.

A read of dm-crypt has no time of its own. A worker decrypts it when it comes to it, and then wakes
the reader, who waited for the io below until that had ended and for the worker only since then::

    reader               |~~~~~~~~~~~~~~~~~~~~~~~~~~~|
    io 3 of sda          |Q D -------C|
    kcryptd      |-- decrypts others' --|-- io 3 --|

    path:        io 3 to C, then the worker
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.layers import Layers
from rcp.analyzer.arrays.trace import OP_FLUSH, Index, Ios, Sleeps, Times
from rcp.analyzer.paths.off_cpu import Clock

MAX_LAYERS = 8
"""Loop devices on each other's files; damaged records could form a circle."""


class Parts(NamedTuple):
    """Of each interval [d, hi) of an io at its device: the worker has [d, u), the io below
    [u, v), and who ended it the rest."""

    worker: Index
    """-1 for none: then u is d, or the io below was queued by an unknown task."""
    u: Times
    child: Index
    """-1 for none: then v is u."""
    v: Times
    ender: Index
    """-1 for none: an interrupt, or the io is at a disk."""


class _Decrypting:
    """When threads decrypted something, in an order in which many times are found quickly."""

    def __init__(self, worker: Index, begin: Times, end: Times) -> None:
        """There must be some."""
        self._is_worker = np.zeros(int(worker.max()) + 1, bool)
        self._is_worker[worker] = True
        self._clock = Clock([begin], len(self._is_worker))
        key = self._key(worker, begin)
        self._order = np.argsort(key, kind="stable")
        self._keys, self._worker, self._end = key[self._order], worker, end

    def _key(self, worker: Index, when: Times) -> Times:
        key: Times = self._clock.at(when) + worker * np.int64(self._clock.span)
        return key

    def at(self, worker: Index, when: Times) -> tuple[Index, Index]:
        """Return the positions of the threads that had a piece at a time, and those of these."""
        busy = np.flatnonzero((worker >= 0) & (worker < len(self._is_worker)))
        busy = busy[self._is_worker[worker[busy]]]
        at = np.searchsorted(self._keys, self._key(worker[busy], when[busy]), "right") - 1
        piece = self._order[np.maximum(at, 0)]
        hit = (at >= 0) & (self._worker[piece] == worker[busy]) & (when[busy] <= self._end[piece])
        return busy[hit].astype(np.int32), piece[hit].astype(np.int32)


class Below:
    """What is below each io."""

    def __init__(self, layers: Layers, ios: Ios, sleeps: Sleeps) -> None:
        """Find the last worker of each io, the io below that ended last, and who ended it.

        Who ended an io has woken those who slept for it.
        """
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
        self._flush = self._flushes(ios)
        self._ender = np.full(count, -1, np.int32)
        by_task = np.flatnonzero((sleeps.waker_io >= 0) & (sleeps.waker_utid >= 0))
        self._ender[sleeps.waker_io[by_task]] = sleeps.waker_utid[by_task]
        crypt = np.flatnonzero((layers.decrypted >= 0) & (layers.worker >= 0))
        self._decrypted, self._kcryptd = layers.decrypted[crypt], None
        if len(crypt):
            pieces = (layers.worker[crypt], layers.begin[crypt], layers.end[crypt])
            self._kcryptd = _Decrypting(*pieces)

    def _flushes(self, ios: Ios) -> Index:
        """Return the flush by a worker for which each io was in the queue last, or -1."""
        found = np.full(len(ios), -1, np.int32)
        real = np.flatnonzero((ios.op == OP_FLUSH) & (self._worker >= 0))
        asks = np.flatnonzero(ios.asks_flush & (ios.op != OP_FLUSH))
        at = asof_backward(ios.dev[real], ios.completed[real], ios.dev[asks], ios.issued[asks])
        known = np.flatnonzero(at >= 0)
        known = known[ios.completed[real[at[known]]] > ios.got[asks[known]]]
        found[asks[known]] = real[at[known]]
        return found

    def flushed(self, io: Index, g: Times, d: Times) -> tuple[Index, Times, Times]:
        """Return the flush of a loop device that each io was in the queue for, and its [u, v).

        That is within [g, d), and empty at its end without such a flush.
        """
        flush = self._flush[io]
        u = np.where(flush >= 0, np.clip(self._ios.queued[flush], g, d), d)
        return flush, u, np.where(flush >= 0, np.clip(self._ios.completed[flush], u, d), d)

    def parts(self, io: Index, d: Times, hi: Times) -> Parts:
        """Divide the intervals [d, hi) that ios of these positions were at their device."""
        worker, child = self._worker[io], self._child[io]
        queued = np.clip(self._ios.queued[child], d, hi)
        ended = np.clip(self._ios.completed[child], queued, hi)
        child = np.where((child >= 0) & (ended > queued), child, -1).astype(np.int32)
        done = np.where(worker >= 0, np.clip(self._done[io], d, hi), d)
        u = np.where(child >= 0, queued, done)
        ender = np.where(worker >= 0, self._ender[io], -1).astype(np.int32)
        return Parts(worker, u, child, np.where(child >= 0, ended, u), ender)

    def read(self, worker: Index, when: Times) -> Index:
        """Return the io below dm-crypt that each thread decrypted at a time, or -1."""
        io = np.full(len(worker), -1, np.int32)
        if self._kcryptd is not None:
            found, at = self._kcryptd.at(worker, when)
            io[found] = self._decrypted[at]
        return io
