"""Keeps the CPU use of recording below a bound, in fixed steps (shedding.STEPS).

It goes a step up after some ticks above the bound, or at once when far above it; a step down after
more ticks below half the bound. In the last step recording pauses for part of each cycle, by the
measured use.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from rcp.probes.contract.percent import percent
from rcp.probes.cost.shedding import STEPS, Shedding

TICK_NS = 1_000_000_000
"""Time between two checks of the use; also the cycle of pauses."""
_PATIENCE_UP = 3  # ticks above the bound: tolerates a burst of a second or two
_FAR = 2.0  # times the bound: step up at once
_PATIENCE_DOWN = 10
_LOW = 0.5  # of the bound: leaves room for what a step down adds
_LEAST_ON = 0.02  # smallest part of a cycle that is recorded: enough to measure the use
_LISTED_MAX = 1000  # pauses and changes listed one by one in meta: the latest, for flight recorders


class Budget:
    """Decides from the CPU use what to record. The caller passes the time."""

    def __init__(self, bound: float, now_ns: int) -> None:
        """``bound`` is in CPUs: 0.05 is 5 % of one."""
        self.bound = bound
        self._level = self._level_max = 0
        self._use_sum, self._n_uses = 0.0, 0
        self._ticks_above = self._ticks_below = 0
        self._on_share = 1.0
        self._cycle_ns = now_ns
        self._paused_since_ns = 0
        self._events: deque[dict[str, Any]] = deque(maxlen=_LISTED_MAX)
        self._pauses: deque[tuple[int, int]] = deque(maxlen=_LISTED_MAX)
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
        """Whether a tick is due."""
        return now_ns - self._cycle_ns >= TICK_NS

    def tick(self, share: float, now_ns: int) -> str | None:
        """Check the use since the last tick (in CPUs); return a message if the step changed."""
        self._cycle_ns = now_ns
        self._use_sum, self._n_uses = self._use_sum + share, self._n_uses + 1
        if STEPS[self._level].pauses:
            # The use is nearly proportional to the time recorded: scale that to the bound.
            wanted = self._on_share * self.bound / max(share, 1e-6)
            self._on_share = max(
                min(wanted, 2 * self._on_share, 1.0), self._on_share / 4, _LEAST_ON
            )
        self._ticks_above = self._ticks_above + 1 if share > self.bound else 0
        calm = share < _LOW * self.bound or (STEPS[self._level].pauses and self._on_share >= 1.0)
        self._ticks_below = self._ticks_below + 1 if calm else 0
        if self._ticks_above >= _PATIENCE_UP or share > _FAR * self.bound:
            return self._change_level(self._level + 1, share, now_ns)
        if self._ticks_below >= _PATIENCE_DOWN:
            return self._change_level(self._level - 1, share, now_ns)
        return None

    def _change_level(self, level: int, share: float, now_ns: int) -> str | None:
        if not 0 <= level < len(STEPS):
            return None
        self._level, self._ticks_above, self._ticks_below = level, 0, 0
        self._use_sum, self._n_uses = 0.0, 0
        self._level_max = max(self._level_max, level)
        self._on_share = max(self.bound / share, _LEAST_ON) if STEPS[level].pauses else 1.0
        text = STEPS[level].text
        self._events.append(
            {"ts": now_ns, "level": level, "step": text, "cpu_share": round(share, 4)}
        )
        used = f"recording used {percent(share)} of one CPU"
        return f"{used} (--max-cpu {self.bound * 100:g}): {text}."

    def shedding(self, now_ns: int) -> Shedding:
        """Return the setting for now, and note the pauses."""
        step = STEPS[self._level]
        paused = step.pauses and now_ns - self._cycle_ns >= self._on_share * TICK_NS
        if paused and not self._paused_since_ns:
            self._paused_since_ns = now_ns
        if not paused and self._paused_since_ns:
            self._note_pause(now_ns)
        return replace(step.shedding, paused=paused)

    def _note_pause(self, now_ns: int) -> None:
        self._n_pauses += 1
        self._paused_ns += now_ns - self._paused_since_ns
        self._pauses.append((self._paused_since_ns, now_ns))
        self._paused_since_ns = 0

    def next_change_s(self, now_ns: int) -> float:
        """Return the seconds until ``shedding`` or ``is_due`` may change."""
        until_ns = self._cycle_ns + TICK_NS
        if STEPS[self._level].pauses and not self._paused_since_ns:
            until_ns = min(until_ns, self._cycle_ns + round(self._on_share * TICK_NS))
        return max(until_ns - now_ns, 0) / 1e9

    def as_dict(self, now_ns: int) -> dict[str, Any]:
        """Return the steps and pauses so far, for ``meta``."""
        if self._paused_since_ns:
            self._note_pause(now_ns)
        return {
            "max_cpu": self.bound,
            "events": list(self._events),
            "cpu_share_since": round(self._use_sum / max(self._n_uses, 1), 4),
            "n_pauses": self._n_pauses,
            "paused_ns": self._paused_ns,
            "pauses": list(self._pauses),
        }
