"""What servers do for clients until they answer them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import ranges, rows_between
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Index, Times
from rcp.analyzer.blame.candidates import Positions


@dataclass(frozen=True)
class Jobs:
    """Jobs, by server and time."""

    server: Times
    client: Index
    begin: Times
    end: Times

    def within(self, server: Times, lo: Times, hi: Times) -> tuple[Positions, Positions]:
        """Return the jobs in each [lo, hi) of a server: (position, job)."""
        first, count = rows_between(self.server, self.end, server, lo, hi)
        # One may go on until later.
        at = np.minimum(first + count, max(len(self.server) - 1, 0))
        goes_on = (first + count < len(self.server)) & (hi > lo)
        if len(self.server):
            goes_on &= (self.server[at] == server) & (self.begin[at] < hi)
        return ranges(first, count + goes_on)

    def take(self, at: Positions) -> Jobs:
        """Return the jobs at these positions."""
        return Jobs(self.server[at], self.client[at], self.begin[at], self.end[at])

    @staticmethod
    def concatenate(*parts: Jobs) -> Jobs:
        """Return the jobs of all parts, in order."""
        names = ("server", "client", "begin", "end")
        columns = [np.concatenate([getattr(part, name) for part in parts]) for name in names]
        return Jobs(*columns).take(np.lexsort((columns[3], columns[0])))

    def of_clients(self, chosen: npt.NDArray[np.bool_]) -> Jobs:
        """Return those of ``chosen`` clients (by task)."""
        return self.take(np.flatnonzero(chosen[self.client]))

    def of_servers(self, chosen: npt.NDArray[np.bool_]) -> Jobs:
        """Return those of ``chosen`` servers (by thread)."""
        return self.take(np.flatnonzero(chosen[self.server]))

    def covers(self) -> Covers:
        """Return when each server is at such a job."""
        return Covers.of(self.server, self.begin, self.end)
