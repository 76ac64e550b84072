"""The suspects that dirtied most pages while a writer was paused at the dirty limit.

No record says which pages the limit counted, so this is a guess from two sources: the pages each
paused writer had dirtied (``throttle`` records), and the data in writes to devices (``causes``).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.suspects import MOSTLY, Blame, Suspects
from rcp.probes.contract.events import THROTTLE

LOOKBACK_NS = 1_000_000_000
"""The pages over the limit were dirtied before the pause. A writer is paused for at most 0.2 s at a
time (MAX_PAUSE, mm/page-writeback.c), several times in a row."""

PAGE_BYTES = 4096


def _sum_between(time: Times, pages: npt.NDArray[np.float64], lo: Times, hi: Times) -> Times:
    """Return the sum of ``pages`` with times in each [lo, hi)."""
    order = np.argsort(time, kind="stable")
    total = np.r_[0.0, np.cumsum(pages[order])]
    time = time[order]
    summed = total[np.searchsorted(time, hi, "left")] - total[np.searchsorted(time, lo, "left")]
    pages_between: Times = np.rint(summed).astype(np.int64)
    return pages_between


def _events(trace: Trace, blame: Blame) -> tuple[Times, Index, npt.NDArray[np.float64]]:
    """Return (time, utid, pages) dirtied or written; utid -1 stands for all who are no suspects."""
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
    """Return, for each pause [lo, hi) of party ``pid``, the top suspect and all suspects' share.

    -1 if suspects dirtied less than half of the pages: then the writer is paused for its own.
    """
    if len(lo) == 0:  # the rest reads every io
        return np.zeros(0, np.int32), np.zeros(0)
    time, utid, pages = _events(trace, blame)
    begin = lo - LOOKBACK_NS
    total = np.maximum(_sum_between(time, pages, begin, hi), 1)
    who, most, of_suspects = np.full(len(lo), -1, np.int32), np.zeros_like(lo), np.zeros_like(lo)
    for suspect in np.unique(utid[suspects.any[utid] & (utid >= 0)]):
        own = utid == suspect
        dirtied = _sum_between(time[own], pages[own], begin, hi)
        dirtied[suspects.is_exempt(suspect, pid)] = 0
        of_suspects += dirtied
        more = dirtied > most
        who[more], most[more] = suspect, dirtied[more]
    share = np.minimum(of_suspects / total, 1)
    return np.where(share >= MOSTLY, who, -1).astype(np.int32), share
