"""The trials that a search knows, and the starts that are left to try."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.space import Key, Space
from rcp.tuner.search.start import Start


class History:
    """Trials, in the order of ``tell``."""

    def __init__(
        self,
        knobs: Sequence[Knob],
        slos: Sequence[str],
        starts: Iterable[Start],
        moving: Iterable[str] | None,
    ) -> None:
        """Start without trials. Knobs that a start changes vary too, so that a model sees them."""
        self.wide = Space(knobs)
        self._starts = [Start(self.wide.complete(one.settings), one.why) for one in starts]
        if moving is not None:
            moving = {*moving, *(name for one in self._starts for name in _changed(knobs, one))}
        self.space = Space(knobs, moving)
        self.slos = tuple(slos)
        self.trials: list[tuple[dict[str, Value], Observation]] = []

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Add a trial; raises ValueError if it has no ratio for an SLO and did not fail."""
        missing = [slo for slo in self.slos if slo not in observation.ratios]
        if missing and not observation.failed:
            raise ValueError(f"a trial has no ratio for {missing[0]}")
        self.trials.append((self.space.present(settings), observation))

    def known(self) -> set[Key]:
        """Return the keys of all settings tried."""
        return {self.space.key(settings) for settings, _ in self.trials}

    def start(self) -> Start | None:
        """Return the next start, None when all were tried.

        It depends on the trials alone, so that a replay returns the same. Each tried settings use
        up one start: a start that the kernel changes would otherwise be returned for ever.
        """
        known = self.known()
        left = self._starts[len(known) :]
        return next((start for start in left if self.space.key(start.settings) not in known), None)


def _changed(knobs: Sequence[Knob], start: Start) -> list[str]:
    settings = start.settings
    return [k.name for k in knobs if k.name in settings and settings[k.name] != k.default]
