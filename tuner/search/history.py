"""What a search was told so far, and which of the settings to start with are left."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.space import Key, Space
from rcp.tuner.search.start import Start


class History:
    """Trials in the order they were told."""

    def __init__(
        self,
        knobs: Sequence[Knob],
        slos: Sequence[str],
        starts: Iterable[Start],
        moving: Iterable[str] | None,
    ) -> None:
        """Know nothing yet."""
        self.space = Space(knobs, moving)
        self.slos = tuple(slos)
        self.trials: list[tuple[dict[str, Value], Observation]] = []
        self._starts = [Start(self.space.complete(s.settings), s.why) for s in starts]

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Add a trial; raises ValueError for one that says nothing of an SLO and did not fail."""
        missing = [slo for slo in self.slos if slo not in observation.ratios]
        if missing and not observation.failed:
            raise ValueError(f"a trial told nothing of {missing[0]}")
        self.trials.append((self.space.present(settings), observation))

    def known(self) -> set[Key]:
        """Return the keys of all settings tried."""
        return {self.space.key(settings) for settings, _ in self.trials}

    def start(self) -> Start | None:
        """Return the next of the settings to start with, None when they are used up.

        It follows from what was told alone, so that a replay gives the same. Each settings told
        uses one up: one that the kernel changed would else be asked for ever.
        """
        known = self.known()
        left = self._starts[len(known) :]
        return next((start for start in left if self.space.key(start.settings) not in known), None)
