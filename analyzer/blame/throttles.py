"""The suspects that dirtied most pages while a writer was paused at the dirty limit.

No record says which pages the limit counted, so this is a guess from two sources: the pages each
paused writer had dirtied (``throttle`` records), and the data in writes to devices (``causes``).

It is more than a guess where the kernel's own rule says that the writer would not have been paused
without them (balance_dirty_pages, mm/page-writeback.c)::

    dirty pages  0 |------ others' ------|---- suspects' ----|   paused
                                  freerun ^ below it nobody is
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.arrays.tasks import ROOT_CGROUP
from rcp.analyzer.arrays.trace import OP_WRITE, PAGE_BYTES, Index, Times, Trace
from rcp.analyzer.blame.owners import Blame
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.clients import Clients
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.events import THROTTLE

LOOKBACK_NS = 1_000_000_000
"""The pages over the limit were dirtied before the pause. A writer is paused for at most 0.2 s at a
time (MAX_PAUSE, mm/page-writeback.c), several times in a row."""


@dataclass(frozen=True)
class Dirtied:
    """For each pause: who dirtied the pages over the limit."""

    utid: Index
    """The suspect with most; -1 if suspects dirtied less than half: then it is the writer's own."""
    is_needless: npt.NDArray[np.bool_]
    """Others' pages alone would have been below the limit, so it is no guess."""


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
    clients: Clients, edges: Edges, at: Index, pid: Times, suspects: Suspects, blame: Blame
) -> Dirtied:
    """Return who dirtied most before the pauses at edges ``at`` of parties ``pid`` ended."""
    if len(at) == 0:  # the rest reads every io
        return Dirtied(np.zeros(0, np.int32), np.zeros(0, bool))
    trace = clients.trace
    time, utid, pages = _events(clients.in_their_place, blame)
    begin, end = edges.ts[at] - LOOKBACK_NS, edges.ts[at] + edges.dur[at]
    total = np.maximum(_sum_between(time, pages, begin, end), 1)
    who, most = np.full(len(at), -1, np.int32), np.zeros(len(at), np.int64)
    of_suspects, counted = np.zeros_like(most), np.zeros_like(most)
    decision = _decisions(trace, edges, at)
    for suspect in np.unique(utid[suspects.any[utid] & (utid >= 0)]):
        own = utid == suspect
        dirtied = _sum_between(time[own], pages[own], begin, end)
        dirtied[suspects.is_exempt(suspect, pid)] = 0
        of_suspects += dirtied
        counted += np.where(_shares_limit(trace, suspect, edges.waiter[at], decision), dirtied, 0)
        more = dirtied > most
        who[more], most[more] = suspect, dirtied[more]
    who = np.where(of_suspects / total >= MOSTLY, who, -1).astype(np.int32)
    return Dirtied(who, _is_needless(trace, decision, counted, total))


def _decisions(trace: Trace, edges: Edges, at: Index) -> Index:
    """Return the throttle row that led to the pause at each edge, -1 without one."""
    sleeps, waiter = trace.sleeps, edges.waiter[at]
    fell_asleep = sleeps.ts[edges.sleep[at]]
    ts = trace.rows[THROTTLE.name]["ts"].astype(np.int64)
    decision = asof_backward(trace.utids[THROTTLE.name], ts, waiter, fell_asleep)
    if not len(ts):
        return decision
    # A decision leads to the next sleep. If that was another one, this sleep's decision was lost.
    slept = np.flatnonzero(sleeps.woken > sleeps.ts)
    before = asof_backward(sleeps.utid[slept], sleeps.ts[slept], waiter, fell_asleep - 1)
    is_older = (before >= 0) & (sleeps.ts[slept[before]] >= ts[decision])
    return np.where(is_older, -1, decision).astype(np.int32)


def _shares_limit(
    trace: Trace, suspect: int, waiter: Index, decision: Index
) -> npt.NDArray[np.bool_]:
    """Return for which waiters a suspect's pages count against the limit that paused them.

    In one cgroup they do. The root's limit counts the whole machine's dirty pages. Whether that of
    a cgroup above both of them paused the waiter is not recorded.
    """
    cgroup = trace.tasks.cgroup_id
    together: npt.NDArray[np.bool_] = (cgroup[waiter] == cgroup[suspect]) & (cgroup[suspect] > 0)
    rows = trace.rows[THROTTLE.name]
    if len(rows):
        together |= rows["cgroup_id"][decision] == ROOT_CGROUP
    return together & (decision >= 0)


def _is_needless(
    trace: Trace, decision: Index, counted: Times, total: Times
) -> npt.NDArray[np.bool_]:
    """Return which pauses would not have been, had the pages ``counted`` of ``total`` been clean.

    Nobody is paused below ``freerun``; the tracepoint's setpoint is halfway from it to the limit.
    Below it all the same, the limit is a device's own (strict_limit), of which less is recorded.
    ``total`` is what was dirtied of late; what is dirty for longer is not the suspects'.
    """
    rows = trace.rows[THROTTLE.name]
    if not len(rows):
        return np.zeros(len(decision), bool)
    setpoint, limit, dirty = (
        rows[name][decision].astype(np.int64)
        for name in ("setpoint_pages", "limit_pages", "dirty_pages")
    )
    freerun = 2 * setpoint - limit
    others = np.maximum((1 - counted / total) * dirty, dirty - counted)
    needless: npt.NDArray[np.bool_] = (freerun <= dirty) & (others < freerun)
    return needless & (decision >= 0)
