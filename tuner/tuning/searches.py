"""Searches by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from rcp.tuner.knobs.knob import Knob
from rcp.tuner.search.observation import Search
from rcp.tuner.search.profile_starts import profile_starts
from rcp.tuner.search.start import NO_GAINS, Gains, starts, worth_first
from rcp.tuner.studies.records import Cause

# After so many settings the first knobs have shown their effect: vary the others too.
_WIDEN_AFTER = 30


class Maker(Protocol):
    """Makes a search."""

    def __call__(
        self, knobs: Sequence[Knob], causes: Sequence[Cause], gains: Gains = NO_GAINS
    ) -> Search:
        """Return a search for knobs, by the causes of the baseline and predicted gains."""


def maker(
    name: str, slos: Sequence[str], seed: int, *, advised: bool = True, profile: str = ""
) -> Maker:
    """Return a function that makes the search *name* (gp, random, tpe) for knobs and causes.

    With *advised* it starts with settings from papers that match the causes, and varies the knobs
    against these; otherwise it starts with the defaults and varies every knob. The candidates of
    *profile* come before the advised settings.
    """

    def make(knobs: Sequence[Knob], causes: Sequence[Cause], gains: Gains = NO_GAINS) -> Search:
        shares = [(cause.kind, cause.slow_share) for cause in causes]
        usual, *advice = starts(knobs, shares, gains)
        first = [usual, *profile_starts(profile, knobs), *(advice if advised else [])]
        moving = worth_first(knobs, shares, gains=gains) if advised else None
        if name == "random":
            from rcp.tuner.search.random import RandomSearch

            return RandomSearch(knobs, slos, seed=seed, starts=first, moving=moving)
        if name == "tpe":
            from rcp.tuner.search.tpe import TpeSearch

            return TpeSearch(knobs, slos, seed=seed, starts=first, moving=moving)
        from rcp.tuner.search.gp import GpSearch

        return GpSearch(
            knobs, slos, seed=seed, starts=first, moving=moving, widen_after=_WIDEN_AFTER
        )

    return make
