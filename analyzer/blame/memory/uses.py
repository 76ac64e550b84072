"""When pages were read or written last, by whom."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, last_chosen, ranges, rounds
from rcp.analyzer.arrays.chunked import column_of
from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, Index, Times, Trace
from rcp.analyzer.blame.causes import Causes
from rcp.analyzer.blame.memory.sectors import sectors_of
from rcp.probes.contract.events import IO

_AT_ONCE = 1 << 22
"""Uses of places that are looked at together: they take some hundred bytes each."""


def fills_memory(trace: Trace) -> npt.NDArray[np.bool_]:
    """Return which ios are of pages in memory: direct ones and flushes are not."""
    ios = trace.ios
    is_buffered = (column_of(trace.rows[IO.name], "ino") != 0) & (ios.bytes > 0)
    filling: npt.NDArray[np.bool_] = is_buffered & ((ios.op == OP_READ) | (ios.op == OP_WRITE))
    return filling


def main_owner(causes: Causes) -> Index:
    """Return the task whose pages each io has most of, whatever its role; -1 if not known."""
    sets, of_io, trace = causes.sets, causes.of_io, causes.clients.in_their_place
    largest = np.lexsort((sets.share, sets.of_member))
    main = np.full(len(sets) + 1, -1, np.int32)
    main[sets.of_member[largest]] = sets.utid[largest]  # the last assignment wins
    owner: Index = np.where(of_io >= 0, main[of_io], trace.ios.submitter)
    return owner


def last_use(
    trace: Trace,
    io: npt.NDArray[np.integer],
    counts: npt.NDArray[np.bool_],
    until: Times,
    *,
    but: Times | None = None,
    thread: Times | None = None,
) -> Times:
    """Return when the first sector of each io was last read or written by a time; 0 if never.

    ``counts``: the ios that count. Of these, those of the thread ``but`` (by io) do not;
    ``thread``: of all ios.
    """
    found = np.zeros(len(io), np.int64)
    thread = np.zeros(len(trace.ios), np.int64) if thread is None else thread
    for at, uses, place in _uses(trace, io, counts, thread):
        row = asof_backward(uses.place, uses.done, place, until[at])
        if but is not None:
            own = np.append(uses.thread, -1)[row] == but[at]
            row = np.where(own & (row >= 0), uses.other[row], row)
        found[at] = np.append(uses.done, 0)[row]
    return found


@dataclass(frozen=True)
class _Uses:
    """Ios that read or wrote places, by place and time."""

    place: Times
    done: Times
    thread: Times
    other: Times
    """The last use of the place before by another thread, -1 if there is none."""


def _uses(
    trace: Trace, io: npt.NDArray[np.integer], counts: npt.NDArray[np.bool_], thread: Times
) -> Iterator[tuple[npt.NDArray[np.intp], _Uses, Times]]:
    """Yield some positions in ``io``, the uses of their first sectors, and the place of each."""
    ios, (begins, ends) = trace.ios, sectors_of(trace)
    for dev in np.unique(ios.dev[io]):
        at = np.flatnonzero(ios.dev[io] == dev)
        wanted, place = np.unique(begins[io[at]], return_inverse=True)
        on = np.flatnonzero((ios.dev == dev) & counts)
        first, end = (np.searchsorted(wanted, sector[on]) for sector in (begins, ends))
        on, first, end = (column[end > first] for column in (on, first, end))
        steps = np.bincount(first, minlength=len(wanted) + 1).astype(np.int64)
        steps -= np.bincount(end, minlength=len(wanted) + 1)
        for part in rounds(np.cumsum(steps)[:-1], _AT_ONCE):
            begin = np.clip(first, part.start, part.stop)
            of, where = ranges(begin, np.clip(end, part.start, part.stop) - begin)
            some = np.flatnonzero((place >= part.start) & (place < part.stop))
            yield at[some], _sorted(where, ios.completed[on[of]], thread[on[of]]), place[some]


def _sorted(place: Times, done: Times, thread: Times) -> _Uses:
    order = np.lexsort((done, place))
    place, done, thread = place[order], done[order], thread[order]
    n = len(order)
    is_new = np.r_[True, (place[1:] != place[:-1]) | (thread[1:] != thread[:-1])][:n]
    before = last_chosen(is_new) - 1
    same = np.append(place, -1)[before] == place
    return _Uses(place, done, thread, np.where(same & (before >= 0), before, -1))
