"""Random search: the baseline for the other searches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.history import History
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.start import Start


class RandomSearch(Search):
    """Settings drawn evenly, each knob by its scale; see GpSearch for the parameters."""

    def __init__(
        self,
        knobs: Sequence[Knob],
        slos: Sequence[str],
        *,
        seed: int = 0,
        starts: Iterable[Start] = (),
        moving: Iterable[str] | None = None,
    ) -> None:
        """Start without trials."""
        self._history = History(knobs, slos, starts, moving)
        self._seed = seed

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Count the trial; its result does not influence the search."""
        self._history.tell(settings, observation)

    def ask(self) -> dict[str, Value]:
        """Return the settings to try next: the same until the next ``tell``."""
        if (start := self._history.start()) is not None:
            self.why = start.why
            return dict(start.settings)
        self.why = "drawn at random"
        return self._history.space.draw(
            np.random.default_rng([self._seed, len(self._history.trials)])
        )
