"""The time of each io alone at its device, as seen or as a model tells it.

What was seen beside others only is an upper limit; the model's estimate takes its place where it
is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Times
from rcp.analyzer.blame.device.service_model import Modelled, modelled_solo_ns
from rcp.analyzer.blame.device.solo import solo_service_ns


@dataclass(frozen=True)
class SoloTimes:
    """Solo service times (D to C) of all ios, in ns."""

    seen: Times
    guessed: npt.NDArray[np.bool_]
    """No io of its kind was ever alone: ``seen`` is the least time beside others."""
    unseen: Index
    """The ios of which it is guessed, in order."""
    model: Modelled
    """What a model tells of each of these."""

    @staticmethod
    def of(ios: Ios) -> SoloTimes:
        """Find them."""
        seen, guessed = solo_service_ns(ios)
        unseen = np.flatnonzero(guessed).astype(np.int32)
        return SoloTimes(seen, guessed, unseen, modelled_solo_ns(ios, unseen))

    def modelled(self, io: Index) -> Modelled:
        """Return what the model tells of guessed ios."""
        at = np.searchsorted(self.unseen, io)
        return Modelled(self.model.known[at], self.model.estimate[at], self.model.high[at])
