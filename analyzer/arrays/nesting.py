"""Nested requests: a transaction, and the fsync inside it.

Sort requests by thread, start and end (longest first). The parent of a request is then the nearest
one before it that ends no earlier. The first guess for each request is the one just before it.
A guess that ends too early is replaced by its own guess, for all requests at once, until all are
right::

    transaction  |-----------------|      sorted: transaction, write, fsync
    write          |--|                   write -> transaction: right
    fsync                |-----|          fsync -> write, ends too early -> transaction: right
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Index, Requests

_NEVER = np.iinfo(np.int64).max


def enclosing(requests: Requests) -> Index:
    """Return, for each request, the innermost request of its thread that encloses it, or -1.

    An unfinished request encloses everything its thread does after its start. Of requests that
    overlap partly, the innermost is the one that started last.
    """
    parent = np.full(len(requests), -1, np.int32)
    if len(requests) < 2:
        return parent
    end = np.where(requests.dur < 0, _NEVER, requests.ts + requests.dur)
    order = np.lexsort((-end, requests.ts, requests.utid))
    utid, end = requests.utid[order], end[order]
    guess = np.arange(-1, len(order) - 1)
    guess[np.r_[True, utid[1:] != utid[:-1]]] = -1
    wrong = np.flatnonzero((guess >= 0) & (end[guess] < end))
    while len(wrong):
        guess[wrong] = guess[guess[wrong]]
        wrong = wrong[(guess[wrong] >= 0) & (end[guess[wrong]] < end[wrong])]
    found = guess >= 0
    parent[order[found]] = order[guess[found]]
    return parent
