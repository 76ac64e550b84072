"""Who asked for flushes of a device's cache.

A queue has one flush at a time, for all that asked while the one before it ran (block/blk-flush.c).
A worker of the block layer queues it, so its submitter says nothing::

    A   |~~~ flush 7 ~~~|                       flush 7: asked for by A
    B        |~~~~~~~~~~|~~~ flush 8 ~~~|       flush 8: by B and C, which waited for 7 first
    C            |~~~~~~|~~~~~~~~~~~~~~~|

Who asked is who sleeps until its end, or whose write waits for it (PREFLUSH). A journal thread asks
for whoever asked for its commit or, if the foreground did too, for those with blocks in it. A write
with PREFLUSH to a device of device-mapper comes below as a flush, whose end wakes a worker that
passes the data on (drivers/md/dm.c); who queued the write asked::

    A           Q                               its journal record, at the device above
    disk          |~~~ flush ~~~|
    worker                      |  Q            the same record, at the disk

What the foreground asks for would be anyway, whoever else does: such a flush is the foreground's.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward, ranges
from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import FOREGROUND, KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_FLUSH, OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.journal.transactions import (
    commit_at,
    journal_threads,
    only_asked_by,
)
from rcp.analyzer.blame.origins import origins_of
from rcp.analyzer.blame.sets import Sets, collect

_FOR_AN_IO = (CODE["device"], CODE["unknown"])
"""Reasons of sleeps until an io that the task asked for is done."""


class _Asked(NamedTuple):
    """Flushes, and for each who asked: a task, or a set of tasks."""

    flush: Times
    utid: Index
    of_set: Index
    """-1 for a task."""


def flush_askers(trace: Trace, sets: Sets, of_io: Index, of_commit: Index) -> tuple[Times, Sets]:
    """Return the flushes of which it is known who asked for them, and the set of each.

    *sets*: those that *of_io* and *of_commit* refer to, -1: none.
    """
    flush = np.flatnonzero((trace.ios.op == OP_FLUSH) & (of_io < 0))
    if not len(flush):
        return collect(flush, np.empty(0, np.int32), np.empty(0))
    role = trace.tasks.role
    by_others = only_asked_by(trace, (role != ROLE_CODE[FOREGROUND]) & (role != ROLE_CODE[KERNEL]))
    journal = _Journal(trace, by_others, of_commit)
    asked = [
        _sleepers(trace, flush, journal),
        _writers(trace, flush, of_io, journal),
        _passed_on(trace, flush, of_io, journal),
    ]
    of, utid, of_set = (np.concatenate(column) for column in zip(*asked, strict=True))
    whole = np.flatnonzero((of_set < 0) & (utid >= 0))
    of_sets = np.flatnonzero(of_set >= 0)
    row, member = ranges(sets.start[of_set[of_sets]], np.diff(sets.start)[of_set[of_sets]])
    of = np.concatenate((of[whole], of[of_sets[row]]))
    utid = np.concatenate((utid[whole], sets.utid[member]))
    weight = np.concatenate((np.ones(len(whole)), sets.share[member].astype(np.float64)))
    is_foreground = role[utid] == ROLE_CODE[FOREGROUND]
    has_foreground = np.isin(of, of[is_foreground])
    # A worker that is woken to queue the next flush asks for nothing.
    is_task = role[utid] != ROLE_CODE[KERNEL]
    chosen = np.flatnonzero(np.where(has_foreground, is_foreground, is_task))
    return collect(of[chosen], utid[chosen], weight[chosen])


class _Journal(NamedTuple):
    """Who asked for commits."""

    trace: Trace
    by_others: Index
    """Of each commit, a task if none of the foreground asked for it; else -1."""
    of_commit: Index

    def askers(self, thread: Index, moment: Times) -> tuple[Index, Index]:
        """Return the task, or else the set of tasks, that each commit of a thread then is for."""
        commit = commit_at(self.trace, thread, moment)
        known = commit >= 0
        utid = np.where(known, np.append(self.by_others, -1)[commit], -1).astype(np.int32)
        of_set = np.where(known, np.append(self.of_commit, -1)[commit], -1).astype(np.int32)
        return utid, np.where(utid >= 0, -1, of_set).astype(np.int32)

    def asked(self, of: Times, thread: Index, moment: Times, of_write: Index) -> _Asked:
        """Return for whom threads queued writes: a commit's, those of its set, or themselves."""
        asker, of_set = self.askers(thread, moment)
        of_set = np.where((asker < 0) & (of_set < 0), of_write, of_set).astype(np.int32)
        return _Asked(of, np.where(asker >= 0, asker, thread).astype(np.int32), of_set)


def _sleepers(trace: Trace, flush: Times, journal: _Journal) -> _Asked:
    """Return who sleeps until the end of a flush: for an io, not for a tag or a page.

    The end of a flush also wakes who waits for a tag, or for what another one writes. A journal
    thread waits for its own record, in a buffer.
    """
    sleeps = trace.sleeps
    sleep = np.flatnonzero(np.isin(sleeps.waker_io, flush))
    is_journal = np.isin(sleeps.utid[sleep], journal_threads(trace))
    sleep = sleep[is_journal | np.isin(sleeps.reason[sleep], _FOR_AN_IO)]
    of, utid = sleeps.waker_io[sleep].astype(np.int64), sleeps.utid[sleep]
    asker, of_set = journal.askers(utid, trace.ios.queued[of])
    return _Asked(of, np.where(asker >= 0, asker, utid).astype(np.int32), of_set)


def _writers(trace: Trace, flush: Times, of_io: Index, journal: _Journal) -> _Asked:
    """Return who wrote what waits for a flush before it is issued: the next one.

    The kernel takes PREFLUSH off a request when it has queued its flush (blk_insert_flush); the
    probe keeps it.
    """
    ios = trace.ios
    write = np.flatnonzero((ios.op == OP_WRITE) & ios.asks_flush)
    at = asof_forward(ios.dev[flush], ios.issued[flush], ios.dev[write], ios.got[write])
    write, of = write[at >= 0], flush[at[at >= 0]]
    waited = ios.completed[of] <= ios.issued[write]
    write, of = write[waited], of[waited]
    return journal.asked(of, ios.submitter[write], ios.queued[write], of_io[write])


def _passed_on(trace: Trace, flush: Times, of_io: Index, journal: _Journal) -> _Asked:
    """Return who wrote to a device above, in front of whose data the flush is.

    Its end wakes the worker that queues the data, and that has nothing else to do.
    """
    ios, sleeps, at = trace.ios, trace.sleeps, origins_of(trace, of_loops=False)
    write = at.stacked[ios.op[at.stacked] == OP_WRITE]
    sleep = np.flatnonzero(np.isin(sleeps.utid, ios.submitter[write]) & (sleeps.woken > sleeps.ts))
    last = asof_backward(
        sleeps.utid[sleep], sleeps.run[sleep], ios.submitter[write], ios.queued[write]
    )
    write, of = write[last >= 0], sleeps.waker_io[sleep[last[last >= 0]]].astype(np.int64)
    waited = np.isin(of, flush) & sleeps.has_no_work[sleep[last[last >= 0]]]
    waited &= ios.dev[write] == ios.dev[of]
    waited &= at.queued[write] <= ios.queued[of]
    write, of = write[waited], of[waited]
    return journal.asked(of, at.queuer[write], at.queued[write], of_io[write])
