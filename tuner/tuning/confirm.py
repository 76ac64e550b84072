"""Confirm a winner: settings that meet the SLOs again in fresh runs.

The best of many noisy trials is in part the luckiest one. Candidates are therefore chosen by the
expected result of a fresh run, and a candidate is run again before it is called a winner.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rcp.analyzer.text import plural
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.pareto import worst

FRESH_RUNS = 3
"""Of settings that meet the SLOs in half of their runs, one in eight passes three runs by luck; of
those that meet them in nine of ten, three in four pass. More runs would cost the search trials."""

_MIN_CANDIDATES = 2  # run even if the first is confirmed: the second may have more objective

_HOLD_CHANCE = 0.9
"""Probability that a confirmed winner meets the SLOs in a later run, as far as few runs tell."""

Trials = Sequence[tuple[Settings, Observation]]
Chance = Callable[[Settings], float]
"""Probability (0..1) that a fresh run of the settings meets every SLO."""


@dataclass(frozen=True)
class Candidate:
    """Settings to confirm; *score* is the objective times the chance of a confirmation."""

    settings: dict[str, Value]
    trials: tuple[Observation, ...]
    chance: float
    score: float

    @property
    def objective(self) -> float:
        """The mean of its trials."""
        return statistics.fmean(one.objective for one in self.trials)


@dataclass(frozen=True)
class Verdict:
    """The result of fresh runs. Only ``confirmed`` settings are called a winner."""

    word: Literal["confirmed", "at its bound", "missed", "failed"]
    met: int
    runs: int
    margin: float
    """Bound over the mean measured quantile; below 1 the SLO is missed."""

    @property
    def confirmed(self) -> bool:
        """Whether the settings are a winner."""
        return self.word == "confirmed"

    def __str__(self) -> str:
        """Return one line of text."""
        if self.word == "failed":
            return f"not confirmed: a fresh run failed ({self.met} of {self.runs} met the SLOs)"
        text = f"met in {self.met} of {plural(self.runs, 'fresh run')}"
        if self.word == "missed":
            return f"not confirmed: {text}"
        if self.word == "at its bound":
            return f"not confirmed: {text}, but by less than the difference between runs"
        return f"confirmed: {text}, by {self.margin:.2f} times on average"


def _by_settings(trials: Trials) -> dict[tuple[tuple[str, Value], ...], list[Observation]]:
    found: dict[tuple[tuple[str, Value], ...], list[Observation]] = {}
    for settings, observation in trials:
        found.setdefault(tuple(sorted(settings.items())), []).append(observation)
    return found


def _mean_log(observations: Sequence[Observation]) -> float:
    return statistics.fmean(math.log(max(worst(one), 1e-6)) for one in observations)


def spread(trials: Trials) -> float:
    """Standard deviation of the log of the worst ratio between runs of the same settings.

    0 if nothing was run twice.
    """
    groups = [
        [math.log(max(worst(one), 1e-6)) for one in group if not one.failed]
        for group in _by_settings(trials).values()
    ]
    repeated = [group for group in groups if len(group) > 1]
    if not repeated:
        return 0.0
    total = sum(statistics.variance(group) * (len(group) - 1) for group in repeated)
    return math.sqrt(total / sum(len(group) - 1 for group in repeated))


def by_margin(trials: Trials, between_runs: float) -> Chance:
    """Return the chance by the trials of the settings themselves, for searches without a model.

    It takes log-ratios as normal around their mean, which is uncertain itself.
    """
    groups = _by_settings(trials)

    def chance(settings: Settings) -> float:
        runs = groups.get(tuple(sorted(settings.items())), [])
        if not runs:
            return 0.0
        deviation = max(between_runs, 1e-6) * math.sqrt(1 + 1 / len(runs))
        return statistics.NormalDist(0, deviation).cdf(-_mean_log(runs))

    return chance


def candidates(trials: Trials, chance: Chance) -> list[Candidate]:
    """Return the settings to confirm: the best score, the best objective, the next best score.

    The score is the mean objective times the chance to meet the SLOs in all fresh runs; it is not
    the result of the best trial. The settings with the best objective are run too, since a model
    of few trials may underestimate them. Settings that never met the SLOs are left out.
    """
    found = []
    for key, observations in _by_settings(trials).items():
        if any(one.failed for one in observations) or not any(o.feasible for o in observations):
            continue
        settings = dict(key)
        mean = statistics.fmean(one.objective for one in observations)
        once = chance(settings)
        sure = once**FRESH_RUNS
        # A negative objective (less is better) is divided, so unsure settings score lower too.
        score = mean * sure if mean >= 0 else mean / max(sure, 1e-6)
        found.append(Candidate(settings, tuple(observations), once, score))
    found.sort(key=lambda one: -one.score)
    best_objective = max(found, key=lambda one: one.objective, default=None)
    if best_objective in found[1:]:
        found.remove(best_objective)
        found.insert(1, best_objective)
    return found[: _MIN_CANDIDATES + 1]


def in_turn(found: Sequence[Candidate], confirmed: Sequence[object]) -> Iterator[Candidate]:
    """Yield the candidates to run; the caller appends to *confirmed* meanwhile.

    The last candidate is yielded only if none before it was confirmed.
    """
    for place, candidate in enumerate(found):
        if confirmed and place >= _MIN_CANDIDATES:
            return
        yield candidate


def verdict(fresh: Sequence[Observation], between_runs: float = 0.0) -> Verdict:
    """Judge one or more fresh runs of the same settings.

    They are confirmed if every run met every SLO, by a margin that lets one more run meet them
    with a chance of _HOLD_CHANCE: log-ratios are taken as normal around their mean, which is
    uncertain with few runs. *between_runs* is their deviation by other repeats (spread()); the
    deviation of these runs counts if it is larger.
    """
    met = sum(one.feasible for one in fresh)
    if any(one.failed for one in fresh):
        return Verdict("failed", met, len(fresh), 0.0)
    mean = _mean_log(fresh)
    logs = [math.log(max(worst(one), 1e-6)) for one in fresh]
    deviation = max(between_runs, statistics.stdev(logs) if len(logs) > 1 else 0.0)
    margin = math.exp(-mean)
    if met < len(fresh):
        return Verdict("missed", met, len(fresh), margin)
    beyond = statistics.NormalDist().inv_cdf(_HOLD_CHANCE) * math.sqrt(1 + 1 / len(fresh))
    if mean + beyond * deviation > 0:
        return Verdict("at its bound", met, len(fresh), margin)
    return Verdict("confirmed", met, len(fresh), margin)
