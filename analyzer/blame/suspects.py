"""Suspects: the tasks that can be culprits.

They are background tasks, and user tasks that match no role rule. Kernel threads, foreground tasks
and the recorder never are.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.arrays.roles import BACKGROUND, KERNEL, ROLE_CODE, STARTED_RULE, UNKNOWN
from rcp.analyzer.arrays.tasks import IDLE_UTID, Tasks
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.parties import FIRST_PARTY, Parties, member, parties_of
from rcp.analyzer.paths.segments import Edges
from rcp.probes.contract.events import TaskFlag

ADMISSION = (CODE["admission_tag"], CODE["admission_slot"])
"""Waits for a tag or slot: the waker did not free it on purpose, so its top holder is blamed."""

THROTTLE = CODE["dirty_throttle"]


class Suspects:
    """The tasks that can be culprits; arrays by utid."""

    def __init__(self, tasks: Tasks) -> None:
        """Classify the tasks of a recording."""
        not_recorder = (tasks.flags & TaskFlag.RECORDER) == 0
        self.background = tasks.role == ROLE_CODE[BACKGROUND]
        self.unknown = (tasks.role == ROLE_CODE[UNKNOWN]) & not_recorder
        self.unknown[IDLE_UTID] = False
        self.kernel = tasks.role == ROLE_CODE[KERNEL]
        self.any = self.background | self.unknown
        # Other threads of the request's own process are no suspects unless a rule says so.
        self.ruled = self.background & np.array([rule != STARTED_RULE for rule in tasks.role_rule])
        no_rule = self.any & ~self.ruled & (tasks.pid > 0)
        self.exempt_pid = np.where(no_rule, tasks.pid, -1)
        self._tasks = tasks
        self._members = np.empty(0, np.int64)

    def parties(self, edges: Edges, pid: Times) -> Parties:
        """Return who serves requests of process ``pid``; those are no suspects from now on."""
        found = parties_of(edges, self._tasks, pid, self.exempt_pid)
        self._members = found.members
        return found

    def is_exempt(self, utid: Index | int, party: Times) -> npt.NDArray[np.bool_]:
        """Return which tasks without a role serve a party of ``parties``."""
        pid = np.broadcast_to(self.exempt_pid[utid], np.shape(party))
        exempt: npt.NDArray[np.bool_] = pid == party
        if len(self._members):
            joint = np.flatnonzero((party <= FIRST_PARTY) & (pid >= 0))
            exempt[joint] = np.isin(member(party[joint], pid[joint]), self._members)
        return exempt

    def some_exempt(self, utids: Index, party: Times) -> npt.NDArray[np.bool_]:
        """Return for which parties some of the tasks ``utids`` may be exempt."""
        pids = self.exempt_pid[utids]
        found: npt.NDArray[np.bool_] = np.isin(party, pids[pids >= 0])
        return found | ((party <= FIRST_PARTY) & bool((pids >= 0).any()))

    def is_suspect(self, utid: Index, party: Times) -> npt.NDArray[np.bool_]:
        """Return which tasks (-1: none) are suspects for a party."""
        # The array is never empty: the idle task is always there.
        suspect: npt.NDArray[np.bool_] = self.any[utid] & ~self.is_exempt(utid, party)
        return suspect & (utid >= 0)


def first_on_chain(edges: Edges, chosen: npt.NDArray[np.bool_]) -> Index:
    """Return, for each edge, the first chosen edge on its chain, itself included, or -1."""
    found = np.where(chosen, np.arange(len(edges), dtype=np.int32), -1).astype(np.int32)
    for depth in range(1, int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        inherited = found[edges.parent[at]]
        found[at] = np.where(inherited >= 0, inherited, found[at])
    return found


def last_on_chain(edges: Edges, chosen: npt.NDArray[np.bool_]) -> Index:
    """Return, for each edge, the last chosen edge on its chain, itself included, or -1."""
    found = np.where(chosen, np.arange(len(edges), dtype=np.int32), -1).astype(np.int32)
    for depth in range(1, int(edges.depth.max(initial=-1)) + 1):
        at = np.flatnonzero(edges.depth == depth)
        found[at] = np.where(found[at] >= 0, found[at], found[edges.parent[at]])
    return found
