"""Waits for answers that a time-out has ended: without suspects, the answer might have come.

What a server does for the request after the time-out, it would have done before::

    client     asks |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~| gives up
    server          | works for the backup           |  works for the client | answers
    alone           |  works for the client | answers
    gone                                    |------|

So only what is waited after that answer is blamed, also if the client looks several times whether
it has come. Of the work after the time-out only the time on a CPU, at the device and in waits for
answers counts: what the server waits for otherwise may be suspects' too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import FOREGROUND, ROLE_CODE
from rcp.analyzer.arrays.trace import Ios, Sleeps, Times
from rcp.analyzer.blame.candidates import Candidates, Positions
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE
from rcp.analyzer.blame.late.lateness import blamed_below
from rcp.analyzer.blame.late.own_time import OwnTime
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.segments import Edges
from rcp.analyzer.paths.time_outs import TimeOuts


def not_given_up(rules: Contention, found: Candidates) -> Candidates:
    """Return what is ``found`` without what the requests would have waited for the answers."""
    trace, edges, time_outs = rules.trace, rules.paths.edges, rules.paths.time_outs
    if time_outs is None:
        return found
    thread = trace.tasks.thread.astype(np.int64)
    of_sleep = np.full(len(trace.sleeps), -1, np.int64)
    of_sleep[time_outs.sleep] = np.arange(len(time_outs.sleep))
    foreground = trace.tasks.role[trace.requests.utid] == ROLE_CODE[FOREGROUND]
    at = np.flatnonzero((of_sleep[edges.sleep] >= 0) & foreground[edges.request])
    of = of_sleep[edges.sleep[at]]
    needed = _needed_ns(time_outs, trace.sleeps, trace.ios, thread)[of]
    blamed = blamed_below(rules.paths, found)[at]
    given_up = np.zeros(len(edges), bool)
    given_up[at] = True
    left = np.ones(len(edges))
    left[at] = _left(edges, at, time_outs.question[of], needed, blamed)
    outer = first_on_chain(edges, left < 1)
    outer = np.append(outer, -1)[rules.paths.segments.edge[found.segment]]
    part = found.part * np.append(left, 1)[outer]
    # A thread may wait for some files, and have asked through another one.
    first = first_on_chain(edges, given_up & (edges.reason == CODE["poll"]))
    guessed = np.append(first, -1)[rules.paths.segments.edge[found.segment]] >= 0
    weight = np.where(guessed, np.minimum(found.weight, GUESS_CONFIDENCE), found.weight)
    return replace(found, part=part, weight=weight).take(np.flatnonzero(part > 0))


def _left(
    edges: Edges, at: Positions, question: Times, needed: Times, blamed: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return which part of what is blamed is after the answer that would have come."""
    _, group = np.unique(question, return_inverse=True)
    n = int(group.max(initial=-1)) + 1
    begin = np.full(n, NEVER)
    np.minimum.at(begin, group, edges.ts[at])
    # Several requests may wait for the same.
    _, once = np.unique(edges.sleep[at], return_index=True)
    own = np.bincount(group[once], (edges.dur[at] - blamed)[once], n)
    after = np.zeros(n, np.int64)
    np.maximum.at(after, group, needed)
    come = (begin + own + after)[group]
    end = edges.ts[at] + edges.dur[at]
    gone = np.clip(end - np.maximum(edges.ts[at], come), 0, blamed)
    found: npt.NDArray[np.float64] = np.where(needed > 0, gone / np.maximum(blamed, 1), 1)
    return found


def _needed_ns(time_outs: TimeOuts, sleeps: Sleeps, ios: Ios, thread: Times) -> Times:
    """Return how long servers work for requests after the time-outs; 0 where it is not known."""
    server = thread[time_outs.server]
    lo = np.maximum(sleeps.woken[time_outs.sleep], time_outs.taken)
    hi = np.maximum(time_outs.answered, lo)
    return OwnTime.of(sleeps, ios, thread, server).within(server, lo, hi)
