"""Threads for viewers that identify them by thread id, which must be unique in the recording."""

from __future__ import annotations

from dataclasses import dataclass

from rcp.analyzer.db.store import Store

TID_LIMIT = 1 << 22
"""All thread ids of the kernel are below (PID_MAX_LIMIT)."""


@dataclass(frozen=True)
class Thread:
    """One task of the store with the ids shown for it."""

    utid: int
    tid: int
    """The task's tid, plus a multiple of ``TID_LIMIT`` if earlier threads had the same tid."""
    pid: int
    ppid: int
    comm: str
    role: str


_TASKS = """
    SELECT list(utid), tid, pid, ppid, arg_max(comm, utid), arg_max(role, utid)
    FROM task GROUP BY thread_utid, tid, pid, ppid ORDER BY min(start_ns), min(utid)
"""


def threads(store: Store) -> dict[int, Thread]:
    """Return all threads by utid; 0 is the idle threads.

    Thread ids recur, and a viewer that uses them as keys would draw two threads as one. So the
    second thread with tid 7 is shown as ``TID_LIMIT`` + 7. If it is the leader of a process,
    later threads of this process have the pid ``TID_LIMIT`` + 7. A thread that changed its name
    is shown under its last one.
    """
    found: dict[int, Thread] = {}
    n_seen: dict[int, int] = {}
    shown_pid: dict[int, int] = {}
    for utids, tid, pid, ppid, comm, role in store.query(_TASKS):
        if tid == 0:
            found |= {utid: Thread(utid, 0, 0, 0, "swapper", role) for utid in utids}
            continue
        pid = pid or tid  # a thread without a task record
        shown = tid + n_seen.get(tid, 0) * TID_LIMIT
        n_seen[tid] = n_seen.get(tid, 0) + 1
        if tid == pid:
            shown_pid[pid] = shown
        ids = (shown, shown_pid.get(pid, pid), shown_pid.get(ppid, ppid))
        found |= {utid: Thread(utid, *ids, comm, role) for utid in utids}
    return found
