"""Who filled the page cache with dirty pages while a writer was paused for it.

No record says which pages the limit counted, so this is a guess from two kinds: what the
kernel told each paused writer it had dirtied (``throttle``), and the data that writes to
devices carried (``causes``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.suspects import MOSTLY, Blame, Suspects
from rcp.probes.contract.events import THROTTLE

LOOKBACK_NS = 1_000_000_000
"""Pages that are over the limit now were dirtied before; a paused writer is paused for at most
0.2 s at a time (MAX_PAUSE, mm/page-writeback.c), several times in a row."""

PAGE_BYTES = 4096


def _sum_between(time: Times, pages: npt.NDArray[np.float64], lo: Times, hi: Times) -> Times:
    """Return the pages of events in each [lo, hi)."""
    order = np.argsort(time, kind="stable")
    total = np.r_[0.0, np.cumsum(pages[order])]
    time = time[order]
    summed = total[np.searchsorted(time, hi, "left")] - total[np.searchsorted(time, lo, "left")]
    pages_between: Times = np.rint(summed).astype(np.int64)
    return pages_between


def _events(trace: Trace, blame: Blame) -> tuple[Times, Index, npt.NDArray[np.float64]]:
    """Return when who dirtied or wrote how many pages; -1 is everybody who is no suspect."""
    rows, ios = trace.rows[THROTTLE.name], trace.ios
    write = np.flatnonzero((ios.op == OP_WRITE) & (ios.bytes > 0))
    pages = ios.bytes[write] / PAGE_BYTES
    share = blame.io.share[write]
    others = np.maximum(1 - share - blame.kernel_share[write], 0)
    time = np.concatenate((rows["ts"].astype(np.int64), *2 * [ios.queued[write]]))
    nobody = np.full(len(write), -1, np.int32)
    return (
        time,
        np.concatenate((trace.utids[THROTTLE.name], blame.io.utid[write], nobody)),
        np.concatenate((rows["dirtied_pages"].astype(np.float64), pages * share, pages * others)),
    )


def dirtied_meanwhile(
    trace: Trace, lo: Times, hi: Times, pid: Times, suspects: Suspects, blame: Blame
) -> tuple[Index, npt.NDArray[np.float64]]:
    """Return, for each pause [lo, hi) of process ``pid``, who dirtied most, and all suspects' part.

    -1 where suspects dirtied less than half: then the writer is paused for its own pages.
    """
    if len(lo) == 0:  # the rest looks at every io
        return np.zeros(0, np.int32), np.zeros(0)
    time, utid, pages = _events(trace, blame)
    begin = lo - LOOKBACK_NS
    every = np.maximum(_sum_between(time, pages, begin, hi), 1)
    who, most, all_pages = np.full(len(lo), -1, np.int32), np.zeros_like(lo), np.zeros_like(lo)
    for suspect in np.unique(utid[suspects.any[utid] & (utid >= 0)]):
        mine = utid == suspect
        dirtied = _sum_between(time[mine], pages[mine], begin, hi)
        dirtied[suspects.exempt_pid[suspect] == pid] = 0
        all_pages += dirtied
        more = dirtied > most
        who[more], most[more] = suspect, dirtied[more]
    share = np.minimum(all_pages / every, 1)
    return np.where(share >= MOSTLY, who, -1).astype(np.int32), share
