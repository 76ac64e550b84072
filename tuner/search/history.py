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
        """Know nothing yet. What a start changes moves as well, or a model could not tell it."""
        self.wide = Space(knobs)
        self._starts = [Start(self.wide.complete(one.settings), one.why) for one in starts]
        if moving is not None:
            moving = {*moving, *(name for one in self._starts for name in _changed(knobs, one))}
        self.space = Space(knobs, moving)
        self.slos = tuple(slos)
        self.trials: list[tuple[dict[str, Value], Observation]] = []

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


def _changed(knobs: Sequence[Knob], start: Start) -> list[str]:
    settings = start.settings
    return [k.name for k in knobs if k.name in settings and settings[k.name] != k.default]
