"""Roles of tasks: what the rules give each, and what it has from those that it works for.

A thread may match a rule by its main thread's name. A process that background work starts is
background too, and a worker of io_uring has the role of the thread that it works for.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from rcp.analyzer.arrays.roles import (
    BACKGROUND,
    KERNEL,
    NO_RULE,
    ROLE_CODE,
    STARTED_RULE,
    UNKNOWN,
    RoleRule,
    TaskFacts,
    matches,
    name_of,
    role_of,
)
from rcp.analyzer.arrays.tasks import IDLE_UTID, Resolver, Tasks

# io_uring/io-wq.c and io_uring/sqpoll.c name their threads after the task they work for.
_URING_WORKER = re.compile(r"iou-(wrk|sqp)-(?P<tid>\d+)")

_STOPPED_NS = 1_000_000_000
"""Who stops a script and its programs ends them within this time, in any order."""

_Given = tuple[str, str]
"""A role, and the rule that gave it."""


def _roles(
    tasks: Tasks, facts: Sequence[TaskFacts], rules: Sequence[RoleRule], until_ns: int
) -> list[_Given]:
    """Return role and rule of each task; an io_uring worker's is that of whom it works for."""
    main = _main_threads(tasks)
    roles = [
        role_of(task, rules, _main_facts(task, facts, at, main)) for at, task in enumerate(facts)
    ]
    _inherit(tasks, roles, main, until_ns)
    by_name = {rule.text: rule for rule in rules if rule.text.startswith("comm:")}
    for worker, creator in _uring_workers(tasks, facts, main):
        own = by_name.get(roles[worker][1])
        # A glob that matches both, such as "*", does not mean the worker.
        if own is None or matches(own, facts[creator]):
            roles[worker] = roles[creator]
    return roles


def _inherit(tasks: Tasks, roles: list[_Given], main: Sequence[int], until_ns: int) -> None:
    """Give processes that background tasks have started their role, if no rule matched.

    A script runs programs of other names, and these have threads.
    """
    inherited, parent = (BACKGROUND, STARTED_RULE), _parents(tasks, until_ns)
    # Parents and main threads began earlier, or are the task itself.
    for at in np.argsort(tasks.since_ns, kind="stable").tolist():
        if roles[at] == (UNKNOWN, NO_RULE):
            by_background = parent[at] >= 0 and roles[parent[at]][0] == BACKGROUND
            if by_background or (main[at] >= 0 and roles[main[at]] == inherited):
                roles[at] = inherited


def _parents(tasks: Tasks, until_ns: int) -> list[int]:
    """Return the row of each task's parent when the task was created, -1 if it is not known.

    Nor if the process has outlived it by more than a moment, or for longer than it had it: a daemon
    that a script starts is no part of the script.
    """
    known = np.isin(tasks.ppid, tasks.tid) & (tasks.ppid > 0)
    tids = np.where(known, tasks.ppid, IDLE_UTID).astype(np.uint32)
    parent = Resolver(tasks).utids(tids, tasks.start_ns)
    # A tid may be known only as that of another thread, an earlier or a later one.
    known &= tasks.start_ns[parent] <= tasks.start_ns
    ended = tasks.exit_ns[parent]
    end = np.where(tasks.exit_ns > 0, tasks.exit_ns, max(until_ns, int(tasks.exit_ns.max())))
    most_ns = np.minimum(ended - tasks.start_ns, _STOPPED_NS)
    known &= (ended == 0) | (end - ended <= most_ns)
    found: list[int] = np.where(known, parent, -1).tolist()
    return found


def _uring_workers(
    tasks: Tasks, facts: Sequence[TaskFacts], main: Sequence[int]
) -> list[tuple[int, int]]:
    """Return the rows of io_uring's workers, each with the row of the thread that it works for.

    That is the last row of that thread: a worker may be older than its creator's name. Of a thread
    that did nothing while recorded, the main thread of the process stands in.
    """
    found = [(at, _URING_WORKER.fullmatch(task.comm)) for at, task in enumerate(facts)]
    workers = np.array([at for at, match in found if match], np.int64)
    if not len(workers):
        return []
    tids = np.array([int(match["tid"]) for _, match in found if match], np.int64)
    known = np.isin(tids, tasks.tid)
    creator = Resolver(tasks).utids(
        np.where(known, tids, IDLE_UTID).astype(np.uint32), tasks.since_ns[workers]
    )
    last_row = {thread: row for row, thread in enumerate(tasks.thread.tolist())}
    rows = [last_row[thread] for thread in tasks.thread[creator].tolist()]
    pairs = zip(workers.tolist(), np.where(known, rows, [main[at] for at in workers]), strict=True)
    return [(worker, int(row)) for worker, row in pairs if row >= 0]


def _main_threads(tasks: Tasks) -> list[int]:
    """Return the row of each task's main thread when the task's row began.

    That is the task itself for a main thread, and -1 if the main thread is not known.
    """
    resolver = Resolver(tasks)
    known = np.isin(tasks.pid, tasks.tid)
    tids = np.where(known, tasks.pid, tasks.tid).astype(np.uint32)
    main = resolver.utids(tids, tasks.since_ns)
    is_main = tasks.pid == tasks.tid
    main = np.where(is_main | (tasks.pid == 0), np.arange(len(tasks)), main)
    found: list[int] = np.where(known | (tasks.pid == 0), main, -1).tolist()
    return found


def _main_facts(
    task: TaskFacts, facts: Sequence[TaskFacts], at: int, main: Sequence[int]
) -> TaskFacts | None:
    if main[at] == at:
        return None
    # A main thread that did nothing while recorded is not known, nor is its name.
    return facts[main[at]] if main[at] >= 0 else replace(task, comm="")


def task_facts(tasks: Tasks) -> list[TaskFacts]:
    """Return what role rules match on of each task."""
    columns = (tasks.pid.tolist(), tasks.cgroup_id.tolist(), tasks.flags.tolist(), tasks.own_comm)
    return [TaskFacts(*row) for row in zip(*columns, strict=True)]


def with_roles(tasks: Tasks, rules: Sequence[RoleRule], until_ns: int) -> Tasks:
    """Return the same tasks with the roles and names that these rules assign.

    ``until_ns``: when the recording ended, or its last event; 0 if it has none.
    """
    facts = task_facts(tasks)
    roles = _roles(tasks, facts, rules, until_ns)
    roles[IDLE_UTID] = (KERNEL, "idle")
    tids, by_text = tasks.tid.tolist(), {rule.text: rule for rule in rules}
    return replace(
        tasks,
        role=np.array([ROLE_CODE[role] for role, _ in roles], np.int8),
        comm=[
            name_of(task, tid, by_text.get(rule))
            for task, tid, (_, rule) in zip(facts, tids, roles, strict=True)
        ],
        role_rule=[rule for _, rule in roles],
    )
