"""Keeps what recording costs below a bound, by giving things up in fixed steps (shedding.STEPS).

A step up is taken when the bound was exceeded for some ticks, at once when it was far exceeded;
a step down when less than half of it was used for longer. In the last step recording pauses
for a part of each cycle that follows the measured use.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rcp.probes.cost.shedding import STEPS, Shedding

TICK_NS = 1_000_000_000
"""How often the use is judged; also the cycle of pauses."""
_PATIENCE_UP = 3  # ticks above the bound: a burst of a second or two is let pass
_FAR = 2.0  # times the bound: no patience
_PATIENCE_DOWN = 10
_LOW = 0.5  # of the bound: what a step down brings back must fit
_LEAST_ON = 0.02  # of a cycle recorded, at the least: enough to measure by
_PAUSES_MAX = 1000  # pauses remembered one by one


class Budget:
    """Judges the use of CPU and tells what to leave out. Times are given, not read."""

    def __init__(self, bound: float, now_ns: int) -> None:
        """``bound`` is in CPUs: 0.05 is 5 % of one."""
        self.bound = bound
        self._level = self._level_max = 0
        self._used, self._n_used = 0.0, 0
        self._above = self._below = 0
        self._on = 1.0
        self._cycle_ns = now_ns
        self._paused_since_ns = 0
        self._events: list[dict[str, Any]] = []
        self._pauses: list[tuple[int, int]] = []
        self._paused_ns = self._n_pauses = 0

    @property
    def level(self) -> int:
        """Position in STEPS."""
        return self._level

    @property
    def level_max(self) -> int:
        """The furthest position in STEPS so far."""
        return self._level_max

    def is_due(self, now_ns: int) -> bool:
        """Tell whether it is time for a tick."""
        return now_ns - self._cycle_ns >= TICK_NS

    def tick(self, share: float, now_ns: int) -> str | None:
        """Judge the use since the last tick; return what changed, in words, if anything."""
        self._cycle_ns = now_ns
        self._used, self._n_used = self._used + share, self._n_used + 1
        if STEPS[self._level].pauses:
            # What is used hardly depends on the pause's length but through it: aim at the bound.
            wanted = self._on * self.bound / max(share, 1e-6)
            self._on = max(min(wanted, 2 * self._on, 1.0), self._on / 4, _LEAST_ON)
        self._above = self._above + 1 if share > self.bound else 0
        calm = share < _LOW * self.bound or (STEPS[self._level].pauses and self._on >= 1.0)
        self._below = self._below + 1 if calm else 0
        if self._above >= _PATIENCE_UP or share > _FAR * self.bound:
            return self._go(self._level + 1, share, now_ns)
        if self._below >= _PATIENCE_DOWN:
            return self._go(self._level - 1, share, now_ns)
        return None

    def _go(self, level: int, share: float, now_ns: int) -> str | None:
        if not 0 <= level < len(STEPS):
            return None
        self._level, self._above, self._below = level, 0, 0
        self._used, self._n_used = 0.0, 0
        self._level_max = max(self._level_max, level)
        self._on = max(self.bound / share, _LEAST_ON) if STEPS[level].pauses else 1.0
        text = STEPS[level].text
        self._events.append(
            {"ts": now_ns, "level": level, "step": text, "cpu_share": round(share, 4)}
        )
        used = f"recording used {share * 100:.1f} % of one CPU"
        return f"{used} (--max-cpu {self.bound * 100:g}): {text}."

    def shedding(self, now_ns: int) -> Shedding:
        """Return what to leave out now, and remember the pauses."""
        step = STEPS[self._level]
        paused = step.pauses and now_ns - self._cycle_ns >= self._on * TICK_NS
        if paused and not self._paused_since_ns:
            self._paused_since_ns = now_ns
        if not paused and self._paused_since_ns:
            self._note_pause(now_ns)
        return replace(step.shedding, paused=paused)

    def _note_pause(self, now_ns: int) -> None:
        self._n_pauses += 1
        self._paused_ns += now_ns - self._paused_since_ns
        if len(self._pauses) < _PAUSES_MAX:
            self._pauses.append((self._paused_since_ns, now_ns))
        self._paused_since_ns = 0

    def next_change_s(self, now_ns: int) -> float:
        """Return how long until ``shedding`` or ``is_due`` may change."""
        until_ns = self._cycle_ns + TICK_NS
        if STEPS[self._level].pauses and not self._paused_since_ns:
            until_ns = min(until_ns, self._cycle_ns + round(self._on * TICK_NS))
        return max(until_ns - now_ns, 0) / 1e9

    def as_dict(self, now_ns: int) -> dict[str, Any]:
        """Return what was given up and when, for ``meta``."""
        if self._paused_since_ns:
            self._note_pause(now_ns)
        return {
            "max_cpu": self.bound,
            "events": list(self._events),
            "cpu_share_since": round(self._used / max(self._n_used, 1), 4),
            "n_pauses": self._n_pauses,
            "paused_ns": self._paused_ns,
            "pauses": list(self._pauses),
        }
