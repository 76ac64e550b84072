"""Steps in which the probes record less to save CPU."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Shedding:
    """One setting of the probes (bpf/settings.h)."""

    wait_ns: int = 0
    """Shorter times off the CPU are not recorded."""
    stacks: bool = True
    """Kernel stacks are taken."""
    paused: bool = False
    """Sleeps, ios, lock waits and policy decisions are counted, not recorded."""


@dataclass(frozen=True)
class Step:
    """One step: what is recorded from there on."""

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
"""The least valuable first: stacks give waits their reason, and a pause hides whole requests."""
