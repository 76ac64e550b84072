"""Bayesian search under constraints: the only door to scikit-optimize.

There is one Gaussian process for the objective and one for the logarithm of each SLO's ratio. The
first few trials are spread out. Until a trial meets the SLOs, the next one maximizes the expected
improvement of the worst ratio; then it maximizes the expected improvement of the objective times
the probability of meeting the SLOs.

``ask`` depends on the knobs, the seed and the trials in their order, and on nothing else: after the
same trials it returns the same settings.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from skopt.learning import GaussianProcessRegressor
from skopt.learning.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from threadpoolctl import threadpool_limits

from rcp.probes.contract.percent import percent
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.acquisition import Belief, log_chance, log_gain
from rcp.tuner.search.history import History
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.space import Space
from rcp.tuner.search.start import Start

Numbers = NDArray[np.float64]

# Candidates for each proposal: drawn anywhere, and near each of the best trials.
_DRAWN, _VARIED, _PARENTS = 500, 60, 5
# With fewer different settings tried, a distant trial teaches more than a model proposes.
_SPREAD = 8
# Trials needed to fit a model.
_MIN_TRIALS = 3
_STEPS = 25
# Log-ratios are clipped to this range on both sides. A failed trial is at the far end.
_FARTHEST = math.log(20)


def _climb(
    objective: Callable[..., tuple[float, Numbers]], begin: Numbers, bounds: Numbers
) -> tuple[Numbers, float]:
    """Optimize a kernel's parameters in a few steps; more digits are not worth the time."""
    found = minimize(
        objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": _STEPS}
    )
    return found.x, float(found.fun)


class Model:
    """A Gaussian process that predicts one figure from a row of numbers."""

    def __init__(self, rows: Numbers, values: Numbers, seed: int) -> None:
        """Fit the model to measured, noisy *values*."""
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        columns = rows.shape[1]
        # Start from long length scales: a knob has little effect until trials show one.
        lengths = np.full(columns, math.sqrt(columns))
        kernel = ConstantKernel(1.0, (0.05, 20.0)) * Matern(
            lengths, (0.1, 10 * math.sqrt(columns)), nu=2.5
        ) + WhiteKernel(0.01, (1e-4, 0.5))
        self._process = GaussianProcessRegressor(
            kernel, noise="gaussian", random_state=seed, optimizer=_climb
        )
        with warnings.catch_warnings():
            # The length scale of a knob without effect runs into its bound, which warns.
            warnings.simplefilter("ignore")
            self._process.fit(rows, (values - self._mean) / self._scale)
        self._noise = math.sqrt(self._process.noise_) * self._scale

    def at(self, rows: Numbers) -> Belief:
        """Return the prediction at *rows*."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mean, deviation = self._process.predict(rows, return_std=True)
        return Belief(mean * self._scale + self._mean, deviation * self._scale, self._noise)


@dataclass(frozen=True)
class _Models:
    """Models of each SLO, and of the objective if enough trials have one."""

    limits: list[Model]
    goal: Model | None

    def chance(self, rows: Numbers) -> Numbers:
        """Log of the probability that a fresh run meets every SLO."""
        chance: Numbers = log_chance([limit.at(rows) for limit in self.limits])
        return chance + np.zeros(len(rows))

    def meets(self, rows: Numbers) -> NDArray[np.bool_]:
        """Where every SLO is predicted to be met."""
        within = [limit.at(rows).mean <= 0 for limit in self.limits]
        met: NDArray[np.bool_] = np.all([np.ones(len(rows), bool), *within], axis=0)
        return met

    def behind(self, rows: Numbers) -> Belief:
        """Prediction for the SLO that is missed by most, negated so that more is better."""
        beliefs = [limit.at(rows) for limit in self.limits]
        means = np.array([belief.mean for belief in beliefs])
        which = means.argmax(axis=0)
        deviations = np.array([belief.deviation for belief in beliefs])
        every = np.arange(len(rows))
        return Belief(-means[which, every], deviations[which, every])

    def worth(self, rows: Numbers) -> Numbers:
        """Return the predicted objective, on the model's own scale."""
        return self.goal.at(rows).mean if self.goal else np.zeros(len(rows))


class GpSearch(Search):
    """Search by Gaussian processes; *slos* are the keys of observations' ratios.

    *starts* are tried first, in that order, without those already tried. *moving* names the knobs
    to vary, besides those that the starts change; the others keep their defaults until
    *widen_after* different settings were tried.
    """

    def __init__(
        self,
        knobs: Sequence[Knob],
        slos: Sequence[str],
        *,
        seed: int = 0,
        starts: Iterable[Start] = (),
        moving: Iterable[str] | None = None,
        widen_after: int | None = None,
    ) -> None:
        """Start without trials."""
        self._history = History(knobs, slos, starts, moving)
        self._widen_after = widen_after
        self._seed = seed
        self._last: tuple[Numbers, _Models] | None = None

    def tell(self, settings: Settings, observation: Observation) -> None:
        """Add the trial of *settings*; a failed trial counts as far from the SLOs."""
        self._history.tell(settings, observation)

    def ask(self) -> dict[str, Value]:
        """Return the settings to try next: the same until the next ``tell``."""
        if (start := self._history.start()) is not None:
            self.why = start.why
            return dict(start.settings)
        random = np.random.default_rng([self._seed, len(self._history.trials)])
        if len(self._history.known()) < _SPREAD:
            self.why = "far from all tried settings: too few trials for a model"
            return self._far(random)
        # Matrices this small are slower with threads, which would also disturb the measurement.
        with threadpool_limits(1):
            return self._proposed(random)

    @property
    def _space(self) -> Space:
        wide = self._widen_after is not None and len(self._history.known()) >= self._widen_after
        return self._history.wide if wide else self._history.space

    def chance(self, settings: Settings) -> float:
        """Return the model's probability that a fresh run of *settings* meets every SLO."""
        if len(self._history.trials) < _MIN_TRIALS:
            return 0.5
        with threadpool_limits(1):
            _, models = self._fitted()
            chance = models.chance(self._space.numbers(settings)[None, :])
        return float(np.exp(chance[0]))

    def _fitted(self) -> tuple[Numbers, _Models]:
        """Return the trials as numbers, and their models, fitted once after each trial."""
        if self._last is None or len(self._last[0]) != len(self._history.trials):
            rows = np.array([self._space.numbers(settings) for settings, _ in self._history.trials])
            self._last = rows, self._models(rows)
        return self._last

    def _proposed(self, random: np.random.Generator) -> dict[str, Value]:
        """Return the candidate with the highest score, an untried one if there is any."""
        rows, models = self._fitted()
        gave = np.array([not observation.failed for _, observation in self._history.trials])
        meets, worth, chance = models.meets(rows) & gave, models.worth(rows), models.chance(rows)
        # Vary the best trials that meet the SLOs, then those closest to meeting them.
        order = np.lexsort((np.where(meets, -worth, -chance), ~meets))
        parents = [self._history.trials[index][0] for index in order[:_PARENTS]]
        candidates = self._candidates(parents, random)
        points = np.array([self._space.numbers(candidate) for candidate in candidates])
        if self._history.slos and not meets.any():
            nearest = float(models.behind(rows).mean.max())
            score = log_gain(models.behind(points), nearest)
        else:
            score = models.chance(points)
        if models.goal and meets.any():
            score = score + log_gain(models.goal.at(points), float(worth[meets].max()))
        best = int(np.argmax(score))
        self.why = self._reason(float(np.exp(models.chance(points)[best])), bool(meets.any()))
        return candidates[best]

    @staticmethod
    def _reason(chance: float, met: bool) -> str:
        aim = "largest expected gain" if met else "largest expected step towards them"
        return f"meets the SLOs with a chance of {percent(chance, 0)}, by the model: {aim}"

    def _far(self, random: np.random.Generator) -> dict[str, Value]:
        """Return, of some drawn settings, those farthest from all tried ones."""
        drawn = [self._space.draw(random) for _ in range(_DRAWN // 10)]
        if not self._history.trials:
            return drawn[0]
        tried = np.array([self._space.numbers(settings) for settings, _ in self._history.trials])
        rows = np.array([self._space.numbers(settings) for settings in drawn])
        apart = np.square(rows[:, None, :] - tried[None, :, :]).sum(axis=2).min(axis=1)
        return drawn[int(np.argmax(apart))]

    def _candidates(
        self, parents: Sequence[Settings], random: np.random.Generator
    ) -> list[dict[str, Value]]:
        known = self._history.known()
        drawn = [self._space.draw(random) for _ in range(_DRAWN)]
        near = [self._space.vary(parent, random) for parent in parents for _ in range(_VARIED)]
        different = {self._space.key(settings): settings for settings in drawn + near}
        return [different[key] for key in different if key not in known] or drawn

    def _models(self, rows: Numbers) -> _Models:
        limits = [Model(rows, self._log_ratios(slo), self._seed) for slo in self._history.slos]
        gave = np.array([not observation.failed for _, observation in self._history.trials])
        values = np.array([observation.objective for _, observation in self._history.trials])[gave]
        if len(values) < _MIN_TRIALS:
            return _Models(limits, None)
        # On a log scale: doubling is the same step at any level.
        if (values > 0).all():
            values = np.log(values)
        elif (values < 0).all():
            values = -np.log(-values)
        return _Models(limits, Model(rows[gave], values, self._seed))

    def _log_ratios(self, slo: str) -> Numbers:
        ratios = [
            math.inf if observation.failed else observation.ratios[slo]
            for _, observation in self._history.trials
        ]
        least = math.exp(-_FARTHEST)
        return np.array([min(math.log(max(ratio, least)), _FARTHEST) for ratio in ratios])
