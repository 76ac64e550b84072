"""What of a wait for a rate limit (io.max, cpu.max) is of who shares the limit.

Without them, who have the share s of what the limit lets through, each turn would have come s of
the time sooner that has passed since the waiter's turn before::

    limit of 50 a second   | c | b | c | b | c |       every second one is the backup's
    client                 |does|~~~|does|~~~|does     60 ms from turn to turn, 30 of them a wait
    alone                  |does|does|does             s = 1/2: 30 ms sooner

So it is all of the wait for a client that alone would not reach the limit, and less for one that
would. Of what was queued all at once, the last one waits for all turns before: then it is the share
of the wait. What was let through before the time in which the share is measured, does not matter:
a limit is not saved up.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.sets import MOSTLY


def part_of_wait(
    share: npt.NDArray[np.floating], wait_ns: Times, since_turn_ns: Times, slice_ns: int
) -> npt.NDArray[np.float64]:
    """Return which part of each wait suspects with a ``share`` of the limit are to blame for.

    ``since_turn_ns``: from the waiter's turn before to the end of the wait. Where it had none (-1),
    the wait is all theirs if they had most. The share is measured from ``slice_ns`` before the wait
    to its end.
    """
    cycle_ns = np.clip(since_turn_ns, wait_ns, wait_ns + slice_ns)
    cycle = cycle_ns / np.maximum(wait_ns, 1)
    at_once = np.where(share >= MOSTLY, 1, share)
    part: npt.NDArray[np.float64] = np.where(
        since_turn_ns < 0, at_once, np.minimum(share * cycle, 1)
    )
    return part
