"""What is called a winner: settings that meet the SLOs again, on fresh runs.

The best of many noisy trials is in part the luckiest one. So the choice goes by what is expected
of a fresh run, and what was chosen is run again before it is believed.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.pareto import worst

FRESH_RUNS = 3
"""Of settings that meet the SLOs in every other run, one in eight passes so many by luck; of those
that do in nine of ten, three in four pass. More would cost trials that the search needs."""

_AT_LEAST = 2  # candidates to run afresh, when the first is confirmed too: the other may have more

_HOLDS = 0.9
"""A confirmed winner meets the SLOs in a later run with that chance, as far as few runs tell."""

Trials = Sequence[tuple[Settings, Observation]]
Chance = Callable[[Settings], float]
"""How likely (0..1) a fresh run meets every SLO, by a search's model."""


@dataclass(frozen=True)
class Candidate:
    """Settings worth a confirmation; *score* is the objective expected of a confirmed winner."""

    settings: dict[str, Value]
    trials: tuple[Observation, ...]
    chance: float
    score: float

    @property
    def objective(self) -> float:
        """The mean of its trials."""
        return statistics.fmean(told.objective for told in self.trials)


@dataclass(frozen=True)
class Verdict:
    """What fresh runs said. Only ``confirmed`` settings are called a winner."""

    word: Literal["confirmed", "at its bound", "missed", "failed"]
    met: int
    runs: int
    margin: float
    """By how many times the mean ratio is below the bound; below 1: above it."""

    @property
    def confirmed(self) -> bool:
        """Whether to believe it."""
        return self.word == "confirmed"

    def __str__(self) -> str:
        """Say it in a line."""
        if self.word == "failed":
            return f"not confirmed: a fresh run failed ({self.met} of {self.runs} met the SLOs)"
        told = f"met in {self.met} of {self.runs} fresh runs"
        if self.word == "missed":
            return f"not confirmed: {told}"
        if self.word == "at its bound":
            return f"not confirmed: {told}, but by less than runs differ"
        return f"confirmed: {told}, by {self.margin:.2f} times on average"


def _by_settings(trials: Trials) -> dict[tuple[tuple[str, Value], ...], list[Observation]]:
    found: dict[tuple[tuple[str, Value], ...], list[Observation]] = {}
    for settings, observation in trials:
        found.setdefault(tuple(sorted(settings.items())), []).append(observation)
    return found


def _mean_log(observations: Sequence[Observation]) -> float:
    return statistics.fmean(math.log(max(worst(told), 1e-6)) for told in observations)


def spread(trials: Trials) -> float:
    """Standard deviation of the log of the worst ratio between runs of the same settings.

    0 if nothing was run twice.
    """
    groups = [
        [math.log(max(worst(told), 1e-6)) for told in group if not told.failed]
        for group in _by_settings(trials).values()
    ]
    repeated = [group for group in groups if len(group) > 1]
    if not repeated:
        return 0.0
    total = sum(statistics.variance(group) * (len(group) - 1) for group in repeated)
    return math.sqrt(total / sum(len(group) - 1 for group in repeated))


def by_margin(trials: Trials, between_runs: float) -> Chance:
    """Return the chance as the trials of the settings themselves say, for searches without a model.

    Normal, about the mean of their log-ratios, which is uncertain itself.
    """
    groups = _by_settings(trials)

    def chance(settings: Settings) -> float:
        told = groups.get(tuple(sorted(settings.items())), [])
        if not told:
            return 0.0
        deviation = max(between_runs, 1e-6) * math.sqrt(1 + 1 / len(told))
        return statistics.NormalDist(0, deviation).cdf(-_mean_log(told))

    return chance


def candidates(trials: Trials, chance: Chance) -> list[Candidate]:
    """Return the settings to confirm: the best bet, the boldest, then the next best bet.

    Bets go by their mean objective times the chance to be met in all fresh runs, not by the best
    trial there was. The boldest has the most of the objective among all that met the SLOs: a model
    of few trials may think too little of it, and fresh runs tell. Settings that met the SLOs in
    none of their trials are left out.
    """
    found = []
    for key, observations in _by_settings(trials).items():
        if any(told.failed for told in observations) or not any(o.feasible for o in observations):
            continue
        settings = dict(key)
        mean = statistics.fmean(told.objective for told in observations)
        once = chance(settings)
        sure = once**FRESH_RUNS
        # Of an objective to have less of, which is negative, an unsure one is worth less too.
        score = mean * sure if mean >= 0 else mean / max(sure, 1e-6)
        found.append(Candidate(settings, tuple(observations), once, score))
    found.sort(key=lambda one: -one.score)
    boldest = max(found, key=lambda one: one.objective, default=None)
    if boldest in found[1:]:
        found.remove(boldest)
        found.insert(1, boldest)
    return found[: _AT_LEAST + 1]


def in_turn(found: Sequence[Candidate], confirmed: Sequence[object]) -> Iterator[Candidate]:
    """Yield the candidates to run afresh; *confirmed* grows meanwhile by those that were.

    The last has its runs only if none before it was confirmed.
    """
    for place, candidate in enumerate(found):
        if confirmed and place >= _AT_LEAST:
            return
        yield candidate


def closest(trials: Trials) -> tuple[Settings, float] | None:
    """Return the settings whose runs came closest on average, and their mean ratio; None: none."""
    groups = {
        key: _mean_log(observations)
        for key, observations in _by_settings(trials).items()
        if not any(told.failed for told in observations)
    }
    if not groups:
        return None
    key = min(groups, key=lambda one: groups[one])
    return dict(key), math.exp(groups[key])


def verdict(fresh: Sequence[Observation], between_runs: float = 0.0) -> Verdict:
    """Judge fresh runs of the same settings, of which there is one at least.

    Confirmed is what met every SLO in all of them, and by so much that one run more would meet
    them with a chance of _HOLDS: log-ratios are taken as normal, about a mean that is as uncertain
    as so few runs make it. *between_runs* is their deviation as known from other repeats
    (spread()); what these runs differ by counts if it is more.
    """
    met = sum(told.feasible for told in fresh)
    if any(told.failed for told in fresh):
        return Verdict("failed", met, len(fresh), 0.0)
    mean = _mean_log(fresh)
    logs = [math.log(max(worst(told), 1e-6)) for told in fresh]
    deviation = max(between_runs, statistics.stdev(logs) if len(logs) > 1 else 0.0)
    margin = math.exp(-mean)
    if met < len(fresh):
        return Verdict("missed", met, len(fresh), margin)
    beyond = statistics.NormalDist().inv_cdf(_HOLDS) * math.sqrt(1 + 1 / len(fresh))
    if mean + beyond * deviation > 0:
        return Verdict("at its bound", met, len(fresh), margin)
    return Verdict("confirmed", met, len(fresh), margin)
