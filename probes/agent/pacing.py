"""Triggers of an agent: counted, and not more than one dump in a while."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from rcp.probes.flight.triggers import Fired, Trigger, Watch


class PacedWatch(Watch):
    """A Watch that is silent for *gap_ns* after each dump: a bad hour is not a hundred dumps."""

    def __init__(
        self,
        triggers: Sequence[Trigger],
        names: Mapping[int, str],
        gap_ns: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """``names`` are request names by ``request.nr``."""
        super().__init__(triggers, names)
        self._gap_ns, self._clock_ns = gap_ns, clock_ns
        self._silent_until_ns = 0
        self.n_fired = {str(trigger): 0 for trigger in triggers}
        """How often each trigger fired, by its text: at most once a drain."""
        self.n_held_back = 0
        """How many of these wrote nothing, because a dump was just written."""

    def pause(self) -> None:
        """Begin the time without dumps."""
        self._silent_until_ns = self._clock_ns() + self._gap_ns

    def fired(self, rows: npt.NDArray[np.void]) -> Fired | None:
        """Return the slowest request beyond a bound, if any and if a dump may be written."""
        return self._paced(super().fired(rows))

    def hanging(self, rows: npt.NDArray[np.void], now_ns: int) -> Fired | None:
        """Return the oldest request under way beyond a bound, likewise."""
        return self._paced(super().hanging(rows, now_ns))

    def _paced(self, found: Fired | None) -> Fired | None:
        if found is None:
            return None
        self.n_fired[found.trigger] += 1
        if self._clock_ns() < self._silent_until_ns:
            self.n_held_back += 1
            return None
        return found
