"""Requests inside requests: a transaction, and the fsync made for it.

Sorted by thread, beginning and (longest first) end, the parent of a request is the nearest one
before it that ends no earlier. Everybody's first guess is the neighbour; a guess that ends too
early is replaced by its own guess, all at once, until all are right::

    transaction  |-----------------|      sorted: transaction, write, fsync
    write          |--|                   write -> transaction: right
    fsync                |-----|          fsync -> write, ends too early -> transaction: right
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.trace import Index, Requests

_NEVER = np.iinfo(np.int64).max


def enclosing(requests: Requests) -> Index:
    """Return for each request the innermost other one of its thread that encloses it, or -1.

    An unfinished request encloses whatever its thread does after its beginning. Of requests
    that cross, the innermost is the one that began last.
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
