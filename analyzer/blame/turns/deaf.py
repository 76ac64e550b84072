"""Waits of servers that clients' messages do not end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.blame.cpu.slices import NEVER
from rcp.analyzer.blame.turns.waits import JobWaits
from rcp.analyzer.paths.futex_loops import LOOK_NS


def is_deaf(waits: JobWaits, answers: JobWaits) -> npt.NDArray[np.bool_]:
    """Return which waits of servers go on though a message has come: they want something else.

    Who sends one and waits for the answer, and does not wake the server, finds it asleep for a
    while, or waiting for a server of its own. Not if that has woken another server of the same
    queue, which was late. ``answers``: what servers answer.
    """
    asked = answers.take(np.flatnonzero(answers.asked & ~answers.is_futex))
    woken = asof_backward(waits.by, waits.end, asked.thread, asked.begin)
    had = asof_backward(answers.thread, answers.end, asked.thread, asked.begin)
    is_other = (woken >= 0) & (np.append(waits.thread, -1)[woken] != asked.by)
    is_other &= np.append(waits.end, -1)[woken] > np.append(answers.end, -1)[had]
    alone = asked.take(np.flatnonzero(~is_other))
    came = asof_forward(alone.by, alone.begin, waits.thread, waits.begin + 1)
    late = (came >= 0) & (np.append(alone.thread, -1)[came] != waits.by)
    late &= np.append(alone.begin, NEVER)[came] < waits.end - LOOK_NS
    pending = (Covers.of(some.by, some.begin, some.end) for some in (alone, asked))
    last = (some.within(waits.thread, waits.end - 1, waits.end) > 0 for some in pending)
    late |= np.where(waits.by >= 0, *last)
    deaf: npt.NDArray[np.bool_] = late & ~waits.is_futex
    return deaf
