"""Knobs of the patched kernel that say what a critical task makes critical: inherit, and sched."""

from __future__ import annotations

from rcp.tuner.knobs.kinds import ALL_WAITS
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.rows import ChoiceRow, NumberRow

_SWITCH: tuple[Value, ...] = (0, 1)
_LOCK_WAITS = ("lock", *ALL_WAITS)

# A profile no-PART leaves out a part.
_PARTS = ("cache", "block", "kernel", "user", "transitive", "sched")
KERNEL_PROFILES = ("off", "rcp", "ld", *(f"no-{part}" for part in _PARTS))
INHERIT_CHOICES = (
    ChoiceRow(
        "inherit.mutex",
        "the owner of a mutex is critical while one waits for it",
        default=1,
        choices=_SWITCH,
        helps=_LOCK_WAITS,
    ),
    ChoiceRow(
        "inherit.rwsem",
        "so is a writer with a read-write semaphore",
        default=1,
        choices=_SWITCH,
        helps=_LOCK_WAITS,
    ),
    ChoiceRow(
        "inherit.jbd2",
        "the journal's thread is critical while one waits for it",
        default=1,
        choices=_SWITCH,
        helps=ALL_WAITS,
    ),
    ChoiceRow(
        "inherit.handles",
        "so are tasks with handles that a commit waits for",
        default=1,
        choices=_SWITCH,
        helps=ALL_WAITS,
    ),
    ChoiceRow(
        "inherit.convert",
        "extents of a file that one syncs are converted first",
        default=1,
        choices=_SWITCH,
        helps=ALL_WAITS,
    ),
    ChoiceRow(
        "inherit.io",
        "queued I/O is critical while one waits for it",
        default=1,
        choices=_SWITCH,
        helps=ALL_WAITS,
    ),
    ChoiceRow(
        "inherit.futex",
        "the owner of a program's mutex is critical while one waits",
        default=1,
        choices=_SWITCH,
        helps=_LOCK_WAITS,
    ),
    ChoiceRow(
        "sched.wakeup_boost",
        "who runs soon after it is woken",
        default="workers",
        choices=("none", "critical", "workers"),
        helps=("cpu", *ALL_WAITS),
    ),
    ChoiceRow(
        "inherit.transitive",
        "what they wait for is critical too",
        default=1,
        choices=_SWITCH,
        helps=ALL_WAITS,
    ),
)
MAX_DEPTH = NumberRow(
    "max_depth", "tasks in a chain of waits, at most", "tasks", default=8, low=1, high=32
)
