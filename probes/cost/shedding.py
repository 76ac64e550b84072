"""What the probes leave out to save CPU: from nothing to nearly everything, in fixed steps."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shedding:
    """One setting of the probes (bpf/settings.h)."""

    wait_ns: int = 0
    """Shorter times off the CPU are not written."""
    stacks: bool = True
    """Kernel stacks are taken."""
    paused: bool = False
    """Sleeps, ios, lock waits and policy decisions are only counted."""


@dataclass(frozen=True)
class Step:
    """One more thing to give up."""

    text: str
    shedding: Shedding
    pauses: bool = False
    """Recording pauses for part of each cycle."""


STEPS: tuple[Step, ...] = (
    Step("everything is recorded", Shedding()),
    Step("sleeps under 50us are not written", Shedding(50_000)),
    Step("sleeps under 1ms are not written", Shedding(1_000_000)),
    Step("and no kernel stacks are taken", Shedding(1_000_000, stacks=False)),
    Step(
        "and recording pauses for part of each second",
        Shedding(1_000_000, stacks=False),
        pauses=True,
    ),
)
"""Cheapest to lose first. A stack tells the reason of a wait; a pause hides whole requests."""
