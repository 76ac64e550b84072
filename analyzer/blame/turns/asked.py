"""The servers that requests wait for, and what they do for background clients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.turns.clients import Clients
from rcp.analyzer.blame.turns.jobs import Jobs
from rcp.analyzer.blame.turns.servers import Servers
from rcp.analyzer.blame.turns.waits import may_be_for_a_turn
from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class Asked:
    """All is empty, or None, where no task has a background role or no request waits for one."""

    edges: Edges
    clients: Clients

    @cached_property
    def waits(self) -> Positions:
        """The waits for an answer of a task that may be a server."""
        edges, suspects = self.edges, self.clients.suspects
        if not suspects.background.any():
            return np.empty(0, np.intp)
        found = may_be_for_a_turn(self.clients.trace.sleeps, edges.sleep) & (edges.io < 0)
        found &= (edges.waker >= 0) & ~edges.guessed
        return np.flatnonzero(found & ~(suspects.background | suspects.kernel)[edges.waker])

    @property
    def servers(self) -> Servers | None:
        """Those of them that have clients with a role."""
        return self.clients.servers if len(self.waits) else None

    @property
    def jobs(self) -> Jobs | None:
        """What they do for background clients, one after another."""
        return self.clients.background_jobs if len(self.waits) else None

    @property
    def messages_known(self) -> bool:
        """Whether their clients' messages were recorded."""
        return self.servers is not None and self.servers.messages_known

    @cached_property
    def work(self) -> WorkedFor | None:
        """What servers do for clients, as work of threads."""
        jobs, thread = self.clients.work, self.clients.trace.tasks.thread.astype(np.int64)
        if jobs is None:
            return None
        some = np.flatnonzero(jobs.end > jobs.begin)
        times = jobs.server[some], jobs.begin[some], jobs.end[some]
        return WorkedFor(thread, *times, jobs.client[some], np.ones(len(some)))
