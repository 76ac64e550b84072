"""How much a tuning may cost."""

from __future__ import annotations

import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Trials of the search, and seconds of wall time for everything (None: no limit).

    After every *baseline_every* trials of the search one measures the machine as it was: no more
    than these are lost to drift, at the price of one in nine. *confirm_runs* fresh runs decide
    about a candidate; *record* asks for the causes. The winner is run *n_again* times more, which
    decide about nothing: whether it holds is told.
    """

    n_trials: int = 24
    budget_s: float | None = None
    baseline_every: int = 8
    confirm_runs: int = 3
    ablation: bool = True
    record: bool = True
    n_again: int = 0


class Budget:
    """Watches the wall time."""

    def __init__(self, budget_s: float | None) -> None:
        """Begin now."""
        self._started, self._budget_s = time.monotonic(), budget_s

    @property
    def left_s(self) -> float | None:
        """Seconds left, None without a limit."""
        if self._budget_s is None:
            return None
        return max(0.0, self._budget_s - (time.monotonic() - self._started))

    def has(self, needed_s: float) -> bool:
        """Whether so many seconds are left."""
        left_s = self.left_s
        return left_s is None or left_s >= needed_s
