"""Random search: what any other search has to beat."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.history import History
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.start import Start


class RandomSearch:
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
        """Know nothing yet."""
        self._history = History(knobs, slos, starts, moving)
        self._seed = seed
        self.why = ""

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Count the trial; what it measured changes nothing."""
        self._history.tell(settings, observation)

    def ask(self) -> dict[str, Value]:
        """Return what to try next: the same until something is told."""
        if (start := self._history.start()) is not None:
            self.why = start.why
            return dict(start.settings)
        self.why = "drawn"
        return self._history.space.draw(
            np.random.default_rng([self._seed, len(self._history.trials)])
        )
