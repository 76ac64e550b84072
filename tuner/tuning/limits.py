"""Limits of a tuning: trials and wall time."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Trials of the search, and seconds of wall time for the whole tuning (None: no limit).

    After every *baseline_every* trials of the search the baseline is measured again: drift can
    spoil that many trials at most, and it costs one trial in nine. *confirm_runs* fresh runs
    decide on a candidate; *record* asks for the causes. The winner is run *n_again* times more.
    These runs decide nothing; the result says in how many the SLOs were met.
    """

    n_trials: int = 24
    budget_s: float | None = None
    baseline_every: int = 8
    confirm_runs: int = 3
    ablation: bool = True
    record: bool = True
    n_again: int = 0


class Budget:
    """The wall time that is left."""

    def __init__(self, budget_s: float | None) -> None:
        """Start the clock."""
        self._started, self._budget_s = time.monotonic(), budget_s

    @property
    def left_s(self) -> float | None:
        """Seconds left, None without a limit."""
        if self._budget_s is None:
            return None
        return max(0.0, self._budget_s - (time.monotonic() - self._started))

    def has(self, needed_s: float) -> bool:
        """Whether *needed_s* seconds are left."""
        left_s = self.left_s
        return left_s is None or left_s >= needed_s
