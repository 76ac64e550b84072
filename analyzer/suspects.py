"""Who can be a culprit: background tasks, and user tasks that no role rule knows.

Kernel threads, foreground tasks and the recorder never are.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.critical_path import Edges
from rcp.analyzer.reasons import EXTERNAL, REASONS
from rcp.analyzer.roles import BACKGROUND, ROLE_CODE, UNKNOWN
from rcp.analyzer.tasks import IDLE_UTID, Tasks
from rcp.analyzer.trace import Index, Times
from rcp.probes.events import TaskFlag

_EXTERNAL = np.array([code in EXTERNAL for code in range(len(REASONS))])


class Suspects:
    """Who can be a culprit; arrays by utid."""

    def __init__(self, tasks: Tasks) -> None:
        """Sort out the tasks of a recording."""
        watched = (tasks.flags & TaskFlag.RECORDER) == 0
        self.background = tasks.role == ROLE_CODE[BACKGROUND]
        self.unknown = (tasks.role == ROLE_CODE[UNKNOWN]) & watched
        self.unknown[IDLE_UTID] = False
        self.any = self.background | self.unknown
        # Other threads of the request's process are its own side unless a rule says otherwise.
        self.exempt_pid = np.where(self.unknown & (tasks.pid > 0), tasks.pid, -1)


def culprit_edges(edges: Edges, pid: Times, suspects: Suspects) -> Index:
    """Return, for each edge, the first edge on its chain that leads to a culprit, or -1.

    ``pid`` is the process of each request.
    """
    waker = edges.waker
    stranger = suspects.unknown[waker] & ~_EXTERNAL[edges.reason]
    stranger &= suspects.exempt_pid[waker] != pid[edges.request]
    guilty = (waker >= 0) & (suspects.background[waker] | stranger)
    found = np.full(len(edges), -1, np.int32)
    for depth in range(int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        inherited = np.full(len(at), -1, np.int32) if depth == 0 else found[edges.parent[at]]
        own = np.where(guilty[at], at, -1)
        found[at] = np.where(inherited >= 0, inherited, own)
    return found
