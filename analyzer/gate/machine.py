"""What the machine was like during a run, whatever ran: its pace, and CPU time stolen from it.

Runs of one program differ mostly because the machine does: another guest takes the CPU, the clock
slows down. What is measured here does not depend on the program under test, so differences between
runs that go with it can be subtracted from both sides. What a program can change itself (the
latency of its own median request, the disk's queue) would not do: it would take the change away,
too.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PACE = "the machine's pace"
STEAL = "stolen CPU time"

_BLOCK = bytes(1 << 20)
_BLOCKS = 16
_STEAL_COLUMN = 7  # of /proc/stat's cpu line: user nice system idle iowait irq softirq steal


def pace_s() -> float:
    """Return how long a fixed piece of work takes, in s of wall time: some tens of ms."""
    begin = time.perf_counter()
    work = hashlib.blake2b()
    for _ in range(_BLOCKS):
        work.update(_BLOCK)
    work.digest()
    return time.perf_counter() - begin


def cpu_ticks(proc: Path = Path("/proc")) -> tuple[int, int] | None:
    """Return the ticks stolen from this machine's CPUs and all ticks; None if they are unknown."""
    try:
        words = (proc / "stat").read_text().split("\n", 1)[0].split()[1:]
        ticks = [int(word) for word in words[: _STEAL_COLUMN + 1]]
    except (OSError, ValueError):
        return None
    return (ticks[_STEAL_COLUMN], sum(ticks)) if len(ticks) > _STEAL_COLUMN else None


@contextmanager
def watched() -> Iterator[dict[str, float]]:
    """Yield a mapping that holds, at the end of the block, what the machine was like during it."""
    found: dict[str, float] = {}
    pace, ticks = pace_s(), cpu_ticks()
    yield found
    ticks_after = cpu_ticks()
    found[PACE] = math.log((pace + pace_s()) / 2)
    if ticks and ticks_after and ticks_after[1] > ticks[1]:
        found[STEAL] = (ticks_after[0] - ticks[0]) / (ticks_after[1] - ticks[1])
