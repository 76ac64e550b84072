"""The runs of a table in one replay: one for the trial, others for its confirmation."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np

from rcp.tuner.bench.table import Goal, Row, Table
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.search.observation import Observation
from rcp.tuner.tuning.confirm import FRESH_RUNS, Verdict, verdict

_NEEDED = 1 + FRESH_RUNS


def _differences(table: Table, goal: Goal) -> list[float]:
    """Differences of the figure's log between runs of the same settings."""
    found = []
    for settings in table.settings():
        logs = [math.log(row[goal.figure]) for row in table.rows(settings) if row]
        found += [one - other for one, other in itertools.permutations(logs, 2)]
    return found


def between_runs(table: Table, goal: Goal) -> float:
    """Standard deviation of the log-ratio between runs of the same settings, over the table."""
    differences = _differences(table, goal)
    if not differences:
        return 0.0
    # A difference has the variance of both runs.
    return math.sqrt(statistics.fmean(one * one for one in differences) / 2)


def n_incomplete(table: Table) -> int:
    """Return how many settings have too few runs for a trial and its confirmation."""
    return sum(len(table.rows(settings)) < _NEEDED for settings in table.settings())


class Runs:
    """The runs that a replay with one seed sees; missing ones are resampled.

    A missing run is an existing run of the settings, its SLO figure changed by a difference between
    two runs of some other settings. Its other figures are copied.
    """

    def __init__(self, table: Table, goal: Goal, seed: int) -> None:
        """Prepare the differences between runs of *table*."""
        self._table, self._goal, self._seed = table, goal, seed
        self._differences = _differences(table, goal) or [0.0]
        self.deviation = between_runs(table, goal)

    def shuffled(self, settings: Settings) -> list[Observation]:
        """Return the runs of *settings* in this seed's order: the trial, then fresh runs."""
        rows = self._table.rows(settings)
        key = str(self._table.space.key(settings)).encode()
        random = np.random.default_rng([self._seed, *key])
        found: list[Row] = [rows[place] for place in random.permutation(len(rows))]
        for _ in range(_NEEDED - len(rows)):
            like = rows[int(random.integers(len(rows)))]
            factor = math.exp(float(random.choice(self._differences)))
            found.append(
                {**like, self._goal.figure: like[self._goal.figure] * factor} if like else like
            )
        return [self._goal.observed(row) for row in found]

    def trial(self, settings: Settings) -> Observation:
        """Return the result of the trial of *settings*."""
        return self.shuffled(settings)[0]

    def verdict(self, settings: Settings) -> Verdict:
        """Return the verdict of fresh runs."""
        return verdict(self.shuffled(settings)[1:_NEEDED], self.deviation)

    def confirmed(self, settings: Settings) -> bool:
        """Whether fresh runs confirm *settings*."""
        return self.verdict(settings).confirmed

    def mean_objective(self, settings: Settings) -> float:
        """Return the mean objective over all runs."""
        return statistics.fmean(one.objective for one in self.shuffled(settings))
