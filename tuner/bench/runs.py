"""The runs of a table as one replay meets them: one for the trial, others for its confirmation."""

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
    """By how much the log of the figure differs from one run to another of the same settings."""
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


def made_up(table: Table) -> int:
    """How many settings were run too few times for a trial and its confirmation."""
    return sum(len(table.rows(settings)) < _NEEDED for settings in table.settings())


class Runs:
    """What a replay with one seed sees; missing runs are made up from those of other settings.

    They differ from a run that there is by as much as two runs of some other settings do. Other
    figures than the SLO's are taken over as they are.
    """

    def __init__(self, table: Table, goal: Goal, seed: int) -> None:
        """Know the table, and by how much its runs differ."""
        self._table, self._goal, self._seed = table, goal, seed
        self._differences = _differences(table, goal) or [0.0]
        self.deviation = between_runs(table, goal)

    def _order(self, settings: Settings) -> list[Observation]:
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
        """What the trial of *settings* measures."""
        return self._order(settings)[0]

    def verdict(self, settings: Settings) -> Verdict:
        """The verdict of fresh runs."""
        return verdict(self._order(settings)[1:_NEEDED], self.deviation)

    def confirmed(self, settings: Settings) -> bool:
        """Whether fresh runs confirm *settings*."""
        return self.verdict(settings).confirmed

    def mean_objective(self, settings: Settings) -> float:
        """The objective over all runs."""
        return statistics.fmean(told.objective for told in self._order(settings))
