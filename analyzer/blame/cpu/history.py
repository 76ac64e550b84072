"""What ran on each CPU, one task after another.

A record of a task that gets a CPU names who ran there just before. So it is known of each CPU who
got it and when, and who had it until the next one did::

    records      client                  backup (client before)           client (copy before)
    the CPU      |client-----------------|backup--------|copy-------------|client-----
                                                   backup sleeps

``copy`` has no record of when it got the CPU: it has had it since the one before left it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Sleeps, Times

_NEVER = np.iinfo(np.int64).max
_KEY_BITS = 62  # (CPU, time) must fit a signed 64-bit key


@dataclass(frozen=True)
class CpuHistory:
    """Pieces [begin, end) of tasks on CPUs, none empty, in order of CPU and time.

    Those of one CPU are disjoint.
    """

    cpu: Times
    begin: Times
    end: Times
    utid: Index

    @staticmethod
    def of(sleeps: Sleeps, thread: Times, wanted: npt.NDArray[np.bool_]) -> CpuHistory:
        """Return the pieces of the tasks ``wanted``, by utid as ``thread`` (``Tasks.thread``)."""
        order = _by_cpu(sleeps)
        cpu, got, utid = sleeps.cpu[order], sleeps.run[order], sleeps.utid[order]
        same_cpu = np.r_[cpu[1:] == cpu[:-1], False][: len(order)]
        # Who has it when the next one gets it, -1 if nobody does; and when that is.
        before = np.r_[sleeps.ran_utid[order][1:], -1][: len(order)]
        before = np.where(same_cpu, before, -1)
        until = np.where(same_cpu, np.r_[got[1:], _NEVER][: len(order)], _NEVER)
        is_other = (before >= 0) & (thread[before] != thread[utid])
        other = np.flatnonzero(is_other & wanted[before])
        own = np.flatnonzero(wanted[utid])
        left = np.full(len(order), -1, np.int64)
        asked = np.union1d(own, other)
        left[asked] = _leaves(sleeps, thread, order[asked])
        # The last time is not recorded.
        last = np.where(is_other | (before < 0), got, until)
        left = np.clip(np.where(left == _NEVER, last, left), got, until)
        return _sorted(
            np.concatenate((cpu[own], cpu[other])),
            np.concatenate((got[own], left[other])),
            np.concatenate((left[own], until[other])),
            np.concatenate((utid[own], before[other])),
        )


def _by_cpu(sleeps: Sleeps) -> Index:
    """Return the records in order of CPU and of when a task got it."""
    cpu, base = sleeps.cpu.astype(np.int64), int(sleeps.run.min(initial=_NEVER))
    span_bits = int(sleeps.run.max(initial=base) - base).bit_length()
    if span_bits + int(cpu.max(initial=0)).bit_length() > _KEY_BITS:
        return np.lexsort((sleeps.run, cpu)).astype(np.int32)
    key = (cpu << span_bits) + (sleeps.run - base)
    return np.argsort(key, kind="stable").astype(np.int32)


def _leaves(sleeps: Sleeps, thread: Times, rows: Index) -> Times:
    """Return when the task of each record left the CPU that it got then, ``_NEVER`` for the last.

    ``rows`` are records of the same threads as all that count.
    """
    counts = np.zeros(int(thread.max(initial=0)) + 1, bool)
    counts[thread[sleeps.utid[rows]]] = True
    chosen = np.flatnonzero(counts[thread[sleeps.utid]])
    of = thread[sleeps.utid[chosen]]
    order = np.lexsort((sleeps.run[chosen], of))
    chosen, of = chosen[order], of[order]
    left = np.full(len(sleeps), _NEVER)
    same = np.flatnonzero(of[1:] == of[:-1])
    left[chosen[same]] = sleeps.ts[chosen[same + 1]]
    found: Times = left[rows]
    return found


def _sorted(cpu: Times, begin: Times, end: Times, utid: Index) -> CpuHistory:
    lasts = np.flatnonzero(end > begin)
    order = lasts[np.lexsort((begin[lasts], cpu[lasts]))]
    return CpuHistory(cpu[order].astype(np.int64), begin[order], end[order], utid[order])
