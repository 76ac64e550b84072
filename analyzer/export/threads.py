"""Threads as viewers know them: by thread id, which must then be unique in the recording."""

from __future__ import annotations

from dataclasses import dataclass

from rcp.analyzer.db.store import Store

TID_LIMIT = 1 << 22
"""The kernel gives out no thread id from here on (PID_MAX_LIMIT)."""


@dataclass(frozen=True)
class Thread:
    """One task of the store with the ids it is shown under."""

    utid: int
    tid: int
    """Its own, plus a multiple of ``TID_LIMIT`` where another thread had that tid before."""
    pid: int
    ppid: int
    comm: str
    role: str


_TASKS = "SELECT utid, tid, pid, ppid, comm, role FROM task ORDER BY start_ns, utid"


def threads(store: Store) -> dict[int, Thread]:
    """Return all threads by utid; the idle ones are 0.

    Thread ids recur, and a viewer that goes by them would draw two threads as one. The
    second thread with tid 7 is therefore shown as ``TID_LIMIT`` + 7; if that was the leader
    of a process, its threads from then on belong to pid ``TID_LIMIT`` + 7.
    """
    found: dict[int, Thread] = {}
    n_seen: dict[int, int] = {}
    shown_pid: dict[int, int] = {}
    for utid, tid, pid, ppid, comm, role in store.query(_TASKS):
        if tid == 0:
            found[utid] = Thread(utid, 0, 0, 0, "swapper", role)
            continue
        pid = pid or tid  # a thread that was met but never described
        shown = tid + n_seen.get(tid, 0) * TID_LIMIT
        n_seen[tid] = n_seen.get(tid, 0) + 1
        if tid == pid:
            shown_pid[pid] = shown
        found[utid] = Thread(
            utid, shown, shown_pid.get(pid, pid), shown_pid.get(ppid, ppid), comm, role
        )
    return found
