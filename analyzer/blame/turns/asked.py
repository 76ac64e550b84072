"""The servers that requests wait for, and what they do for background clients."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.candidates import Positions
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.turns.servers import Jobs, Servers
from rcp.analyzer.blame.turns.waits import may_be_for_a_turn
from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.paths.segments import Edges


@dataclass(frozen=True)
class Asked:
    """All is empty, or None, where no task has a background role or no request waits for one."""

    trace: Trace
    edges: Edges
    suspects: Suspects

    @cached_property
    def waits(self) -> Positions:
        """The waits for an answer of a task that may be a server."""
        edges, suspects = self.edges, self.suspects
        if not suspects.background.any():
            return np.empty(0, np.intp)
        found = may_be_for_a_turn(self.trace.sleeps, edges.sleep) & (edges.io < 0)
        found &= (edges.waker >= 0) & ~edges.guessed
        return np.flatnonzero(found & ~(suspects.background | suspects.kernel)[edges.waker])

    @cached_property
    def servers(self) -> Servers | None:
        """Those that background tasks ask too."""
        if not len(self.waits):
            return None
        asked = self.edges.waker[self.waits]
        return Servers.of(self.trace.sleeps, self.trace.tasks, self.suspects, asked)

    @cached_property
    def jobs(self) -> Jobs | None:
        """What they do for background clients."""
        return self.servers.jobs() if self.servers is not None else None

    @property
    def messages_known(self) -> bool:
        """Whether their clients' messages were recorded."""
        return self.servers is not None and self.servers.messages_known

    @property
    def work(self) -> WorkedFor | None:
        """The jobs as work of threads; without messages they are too much of a guess."""
        if self.jobs is None or not self.messages_known:
            return None
        return self.jobs.as_work(self.trace.tasks.thread.astype(np.int64))
