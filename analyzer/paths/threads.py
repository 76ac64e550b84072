"""Critical paths of threads that change their names.

A thread that changes its name or cgroup has a row in ``Tasks`` for each (``Tasks.thread``), because
its role may change too. Its sleeps belong to one thread nevertheless: the walk follows threads, and
the segments and edges it finds are then given to who the thread was at the time. A segment in which
the name changed is cut there, and so is the wait for that thread::

    thread    |--------- cpu ---------|
    names     | server    | cp        |      segments: cpu by server, cpu by cp
    waiter    |~~~~~~ a mutex ~~~~~~~~|      edges: to server, to cp

So a task is blamed for what it did under its own name, not for all that its thread ended. Who ends
a wait for a unit of a pool is not blamed, so such a wait stays whole.
"""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, ranges, rows_between
from rcp.analyzer.arrays.reasons import IS_POOL
from rcp.analyzer.arrays.tasks import Resolver, Tasks
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.paths.below import Below
from rcp.analyzer.paths.critical_path import critical_paths
from rcp.analyzer.paths.futex_loops import until_the_end
from rcp.analyzer.paths.interrupts import Interrupts, cut_at_interrupts
from rcp.analyzer.paths.message_loops import until_the_answer
from rcp.analyzer.paths.messages import Messages
from rcp.analyzer.paths.segments import Edges, Paths, Segments
from rcp.analyzer.paths.time_outs import TimeOuts, until_the_time_out


def paths_of(trace: Trace, messages: Messages | None = None) -> Paths:
    """Return the critical paths of all finished requests of a trace.

    ``messages``: those of the trace, if they are known already.
    """
    tasks, requests = trace.tasks, trace.requests
    messages = messages or Messages.of(trace.sleeps, tasks)
    sleeps = until_the_end(trace.sleeps, requests, tasks)
    sleeps = until_the_answer(sleeps, requests, tasks, messages)
    time_outs = TimeOuts.of(sleeps, tasks, messages)
    trace = replace(trace, sleeps=until_the_time_out(sleeps, time_outs))
    paths = _of_threads(trace)
    segments = cut_at_interrupts(paths.segments, Interrupts.of(trace))
    return Paths(segments, paths.edges, time_outs if len(time_outs.sleep) else None)


def _of_threads(trace: Trace) -> Paths:
    tasks = trace.tasks
    thread = tasks.thread.astype(np.int32)
    layers = trace.layers
    if (thread == np.arange(len(tasks))).all():
        below = None if layers.is_empty else Below(layers, trace.ios, trace.sleeps)
        return critical_paths(trace.sleeps, trace.ios, trace.requests, len(tasks), below)

    def of(utid: Index) -> Index:
        return np.where(utid >= 0, thread[utid], -1).astype(np.int32)

    sleeps = replace(
        trace.sleeps,
        utid=of(trace.sleeps.utid),
        waker_utid=of(trace.sleeps.waker_utid),
        owner_utid=of(trace.sleeps.owner_utid),
        ran_utid=of(trace.sleeps.ran_utid),
    )
    ios = replace(trace.ios, submitter=of(trace.ios.submitter))
    requests = replace(trace.requests, utid=of(trace.requests.utid))
    layers = replace(layers, worker=of(layers.worker))
    below = None if layers.is_empty else Below(layers, ios, sleeps)
    paths = critical_paths(sleeps, ios, requests, len(tasks), below)
    segments = _named_segments(paths.segments, tasks)
    return _cut_edges(segments, _named_edges(paths.edges, trace), tasks)


def _named_edges(edges: Edges, trace: Trace) -> Edges:
    """Return the edges with who waiter and waker were when the wait ended."""
    sleeps, sleep = trace.sleeps, edges.sleep
    waker = sleeps.waker_utid[sleep]
    waker = np.where(waker < 0, sleeps.owner_utid[sleep], waker)
    if len(trace.ios):
        waker = np.where(edges.io >= 0, trace.ios.submitter[edges.io], waker)
    waker = np.where(edges.waker >= 0, waker, -1).astype(np.int32)
    return replace(edges, waiter=sleeps.utid[sleep], waker=waker)


def _cut_edges(segments: Segments, edges: Edges, tasks: Tasks) -> Paths:
    """Return the paths with an edge for each name that a waker had during the wait for it."""
    thread = tasks.thread
    by_task = (edges.io < 0) & (edges.waker >= 0) & ~IS_POOL[edges.reason]
    of = np.where(by_task, thread[edges.waker], -1)
    first, count = _changes_within(of, edges.ts, edges.dur, tasks)
    if not count.any():
        return Paths(segments, edges)
    owner, place = ranges(first - 1, count + 1)
    cut = {f.name: getattr(edges, f.name)[owner] for f in fields(Edges)}
    end = cut["ts"] + cut["dur"]
    later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    cut["ts"][later] = _changes(tasks)[1][place[later]]
    end[later - 1] = cut["ts"][later]
    cut["dur"] = end - cut["ts"]
    several = np.flatnonzero(count[owner] > 0)
    tids = tasks.tid[cut["waker"][several]].astype(np.uint32)
    cut["waker"][several] = Resolver(tasks).utids(tids, cut["ts"][several])
    begin = np.cumsum(count + 1) - count - 1

    def moved(edge: Index, when: Times) -> Index:
        """Return where each edge is now: the piece of it at that time."""
        some = np.flatnonzero(edge >= 0)
        found = np.full(len(edge), -1, np.int32)
        old = edge[some]
        # Pieces are in order of edge and time, and so are these keys.
        found[some] = np.maximum(asof_backward(owner, cut["ts"], old, when[some]), begin[old])
        return found

    cut["parent"] = moved(cut["parent"], cut["ts"])
    return Paths(replace(segments, edge=moved(segments.edge, segments.ts)), Edges(**cut))


def _named_segments(segments: Segments, tasks: Tasks) -> Segments:
    """Return the segments with who their threads were at the time, cut where a name changed."""
    first, count = _changes_within(segments.utid, segments.ts, segments.dur, tasks)
    # A segment with n changes becomes n + 1; each begins at a change but the first one.
    owner, place = ranges(first - 1, count + 1)
    cut = {f.name: getattr(segments, f.name)[owner] for f in fields(Segments)}
    end = cut["ts"] + cut["dur"]
    later = np.flatnonzero(owner[1:] == owner[:-1]) + 1
    cut["ts"][later] = _changes(tasks)[1][place[later]]
    end[later - 1] = cut["ts"][later]
    cut["dur"] = end - cut["ts"]
    resolver = Resolver(tasks)
    for name, when in (("utid", cut["ts"]), ("ran", end)):
        some = np.flatnonzero(cut[name] >= 0)
        tids = tasks.tid[cut[name][some]].astype(np.uint32)
        cut[name][some] = resolver.utids(tids, when[some])
    return Segments(**cut)


def _changes(tasks: Tasks) -> tuple[Times, Times]:
    """Return thread and time of each change of a name, by thread and time."""
    later = np.flatnonzero(tasks.thread != np.arange(len(tasks)))
    later = later[np.lexsort((tasks.since_ns[later], tasks.thread[later]))]
    return tasks.thread[later], tasks.since_ns[later]


def _changes_within(of: Index, lo: Times, dur: Times, tasks: Tasks) -> tuple[Times, Times]:
    """Return the position of the first change of each thread ``of`` in its time, and their number.

    -1 for no thread.
    """
    thread, since = _changes(tasks)
    first, count = np.zeros((2, len(of)), np.int64)
    at = np.flatnonzero(np.isin(of, thread))
    of, lo, hi = of[at].astype(np.int64), lo[at], lo[at] + dur[at]
    first[at], count[at] = rows_between(thread, since, of, lo, hi - 1)
    return first, count
