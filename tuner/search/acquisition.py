"""Acquisition functions: the probability of meeting the SLOs, and the expected improvement."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr

Numbers = NDArray[np.float64]

# Below this the two terms of the expected improvement cancel out in a double.
_CANCELS = -6.0


@dataclass(frozen=True)
class Belief:
    """A model's prediction at some points: mean and standard deviation of each.

    *noise* is the standard deviation of one measurement around the prediction.
    """

    mean: Numbers
    deviation: Numbers
    noise: float = 0.0


def log_chance(log_ratios: Sequence[Belief]) -> Any:
    """Log of the probability that a fresh run meets every SLO, taken as independent.

    A fresh run has its own noise: settings exactly at a bound miss it in half of the runs.
    """
    total: Any = 0.0
    for belief in log_ratios:
        spread = np.sqrt(np.square(belief.deviation) + belief.noise**2)
        total = total + log_ndtr(-belief.mean / np.maximum(spread, 1e-9))
    return total


def log_gain(objective: Belief, best: float) -> Numbers:
    """Log of the expected improvement over *best*, without measurement noise."""
    deviation = np.maximum(objective.deviation, 1e-9)
    z = (objective.mean - best) / deviation
    log_density = -np.square(z) / 2 - np.log(np.sqrt(2 * np.pi))
    with np.errstate(invalid="ignore", divide="ignore"):
        near = np.log(np.exp(log_density) + z * np.exp(log_ndtr(z)))
        far = log_density - 2 * np.log(np.abs(z))
    gain: Numbers = np.log(deviation) + np.where(z > _CANCELS, near, far)
    return gain
