"""When threads left the CPU that they had got: at the beginning of their next records."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Sleeps, Times

NEVER = np.iinfo(np.int64).max
_KEY_BITS = 62  # (group, time) must fit a signed 64-bit key


def in_order(group: Times | Index, time: Times, rows: npt.NDArray[np.intp]) -> Index:
    """Return rows in order of group (numbers from 0) and time."""
    if not len(rows):
        return rows.astype(np.int32)
    of, when = group[rows].astype(np.int64), time[rows]
    when -= when.min()
    bits = int(when.max()).bit_length()
    if bits + int(of.max()).bit_length() > _KEY_BITS:
        return rows[np.lexsort((when, of))].astype(np.int32)
    # Nearly sorted numbers are sorted fast, one key much faster than two.
    return rows[np.argsort((of << bits) + when, kind="stable")].astype(np.int32)


def slices_of(sleeps: Sleeps, thread: Times, rows: npt.NDArray[np.intp]) -> tuple[Index, Times]:
    """Return records in order of thread and time, and when each one's thread left the CPU again.

    ``rows`` are all records of some threads; ``thread`` (``Tasks.thread``) is by utid. The last
    time of a thread is not recorded: ``NEVER``.
    """
    of = thread[sleeps.utid]
    at = in_order(of, sleeps.run, rows)
    left = np.full(len(at), NEVER)
    same = np.flatnonzero(of[at[1:]] == of[at[:-1]])
    left[same] = sleeps.ts[at[same + 1]]
    return at, left
