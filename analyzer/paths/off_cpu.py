"""Cut intervals of tasks' time by their off-CPU records, many intervals at once.

A task's sorted records are disjoint, so the ones that overlap [lo, hi) are adjacent: two binary
searches on (utid, time) keys find them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Sleeps, Times

_KEY_LIMIT = 1 << 62  # (utid, time) keys must stay below 2^63, with room for one more span


@dataclass(frozen=True)
class Frames:
    """Intervals [lo, hi) of a task's time on the path of a request, reached by an edge."""

    request: Index
    utid: Index
    lo: Times
    hi: Times
    edge: Index

    def __len__(self) -> int:
        return len(self.request)

    def take(self, at: npt.NDArray[np.intp]) -> Frames:
        """Return the frames at these positions."""
        return Frames(self.request[at], self.utid[at], self.lo[at], self.hi[at], self.edge[at])

    def of(self, utid: Index) -> Frames:
        """Return the same intervals of other tasks."""
        return Frames(self.request, utid, self.lo, self.hi, self.edge)

    @staticmethod
    def concatenate(one: Frames, other: Frames) -> Frames:
        """Return the frames of both."""
        return Frames(
            np.concatenate((one.request, other.request)),
            np.concatenate((one.utid, other.utid)),
            np.concatenate((one.lo, other.lo)),
            np.concatenate((one.hi, other.hi)),
            np.concatenate((one.edge, other.edge)),
        )


@dataclass(frozen=True)
class Pieces:
    """The parts of frames; together they cover the frames exactly (some may be empty)."""

    running: Frames
    runnable: Frames
    delayed: Index
    """For each of ``runnable``, the position of its record in ``Sleeps``."""
    unseen: Frames
    """Before the task's first record: its state is not known."""
    asleep: Frames
    """Never empty intervals."""
    sleep: Index
    """For each of ``asleep``, the position of its record in ``Sleeps``."""


class Clock:
    """Map times to small positions, so that (utid, time) fits one 64-bit key."""

    def __init__(self, times: list[Times], n_utids: int) -> None:
        low = min(int(t.min()) for t in times)
        high = max(int(t.max()) for t in times)
        self._base = low - 1
        self.span = high - low + 3
        self._ranks: Times | None = None
        if self.span * (n_utids + 1) >= _KEY_LIMIT:
            self._ranks = np.unique(np.concatenate(times))
            self.span = len(self._ranks) + 2

    def at(self, times: Times) -> Times:
        """Return positions: ``recorded <= t`` is ``at(recorded) <= at(t)``."""
        if self._ranks is None:
            return np.clip(times - self._base, 0, self.span - 1)
        return np.searchsorted(self._ranks, times, "right").astype(np.int64)

    def below(self, times: Times) -> Times:
        """Return positions: ``recorded < t`` is ``at(recorded) < below(t)``."""
        if self._ranks is None:
            return self.at(times)
        return np.searchsorted(self._ranks, times, "left").astype(np.int64) + 1

    def time(self, positions: Times) -> Times:
        """Return the recorded time of each position, 0 for position 0 (before all)."""
        if self._ranks is None:
            return np.where(positions > 0, positions + self._base, 0)
        return np.where(positions > 0, self._ranks[np.maximum(positions - 1, 0)], 0)


class OffCpu:
    """The off-CPU records of all tasks, sorted for cutting frames."""

    def __init__(self, sleeps: Sleeps, ios: Ios, n_utids: int) -> None:
        """Sort the records and make those of one task disjoint."""
        self._ios = ios
        self.has_records = np.zeros(n_utids, bool)
        self.has_records[sleeps.utid] = True
        self._empty = len(sleeps) == 0
        if self._empty:
            return
        self._sleeps = sleeps
        # A first-seen record has no start of its own: it is sorted by its end.
        begin = np.where(sleeps.first_seen, sleeps.run, sleeps.ts)
        self._clock = clock = Clock([begin, sleeps.run], n_utids)
        key = clock.at(begin)
        del begin
        key += sleeps.utid * np.int64(clock.span)
        # Records are written as sleeps end, so each task's are already in order.
        self._sleep = np.argsort(key, kind="stable").astype(np.int32)
        key = key[self._sleep]
        task = sleeps.utid[self._sleep] * np.int64(clock.span)
        run_key = clock.at(sleeps.run)[self._sleep]
        run_key += task
        np.maximum(run_key, key, out=run_key)
        # Damaged or lost events can make records overlap: each is made to start after the last.
        before = np.maximum.accumulate(run_key)
        before[1:], before[0] = before[:-1], 0
        np.maximum(before, task, out=before)
        first_seen = np.flatnonzero(sleeps.first_seen[self._sleep])
        key[first_seen] = before[first_seen]
        self._ts_key = np.maximum(key, before, out=key)
        self._run_key = np.maximum(run_key, key, out=run_key)

    def _record(self, at: npt.NDArray[np.intp]) -> tuple[Index, Times, Times, Times]:
        """Return sleep position, ts, woken and run of the records at these sorted positions."""
        sleep = self._sleep[at]
        task = self._sleeps.utid[sleep] * np.int64(self._clock.span)
        ts = self._clock.time(self._ts_key[at] - task)
        run = self._clock.time(self._run_key[at] - task)
        return sleep, ts, np.clip(self._sleeps.woken[sleep], ts, run), run

    def _overlapping(self, frames: Frames) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
        """Return, for each frame, its first overlapping record and their number."""
        if self._empty:
            return np.zeros(len(frames), np.intp), np.zeros(len(frames), np.intp)
        clock = self._clock
        task = frames.utid * np.int64(clock.span)
        first = np.searchsorted(self._run_key, task + clock.at(frames.lo), "right")
        end = np.searchsorted(self._ts_key, task + clock.below(frames.hi), "left")
        return first, np.maximum(end - first, 0)

    def first_sleep(self, frames: Frames) -> Index:
        """Return the position in ``Sleeps`` of the first record in each frame, -1 without one."""
        first, count = self._overlapping(frames)
        found = np.full(len(frames), -1, np.int32)
        some = count > 0
        if some.any():
            found[some] = self._sleep[first[some]]
        return found

    def cut(self, frames: Frames) -> Pieces:
        """Cut every frame by its task's records."""
        first, count = self._overlapping(frames)
        total = int(count.sum())
        if total == 0:
            none = frames.take(np.empty(0, np.intp))
            nothing = np.empty(0, np.int32)
            return Pieces(frames, none, nothing, none, none, nothing)
        start = np.cumsum(count) - count
        owner = np.repeat(np.arange(len(frames)), count)
        at = np.arange(total) - np.repeat(start - first, count)
        record, asleep, woken, run = self._within(frames, owner, at)
        some = count > 0
        # Gaps between records: one before each, and one after the last of each frame.
        gap_lo = np.r_[np.int64(0), run[:-1]]
        gap_lo[start[some]] = frames.lo[some]
        tail_lo = frames.lo.copy()
        tail_lo[some] = run[(start + count - 1)[some]]
        each = frames.take(owner)

        def part(begin: Times, end: Times, which: npt.NDArray[np.intp] | slice) -> Frames:
            return Frames(
                each.request[which], each.utid[which], begin[which], end[which], each.edge[which]
            )

        unseen = self._sleeps.first_seen[record]
        slept = np.flatnonzero(~unseen & (woken > asleep))
        delayed = np.flatnonzero(~unseen & (run > woken))
        everything = slice(None)
        tail = Frames(frames.request, frames.utid, tail_lo, frames.hi, frames.edge)
        return Pieces(
            running=Frames.concatenate(part(gap_lo, asleep, everything), tail),
            runnable=part(woken, run, delayed),
            delayed=record[delayed],
            unseen=part(asleep, run, np.flatnonzero(unseen)),
            asleep=part(asleep, woken, slept),
            sleep=record[slept],
        )

    def _within(
        self, frames: Frames, owner: npt.NDArray[np.intp], at: npt.NDArray[np.intp]
    ) -> tuple[Index, Times, Times, Times]:
        """Return the sleep, ts, woken and run of records ``at``, each within its frame ``owner``.

        What a worker of a workqueue did before it was idle was other work: it waits for who brought
        its work from the beginning of the frame on, and the records before are empty.
        """
        lo, hi = frames.lo[owner], frames.hi[owner]
        record, ts, woken, run = self._record(at)
        asleep = np.maximum(ts, lo)
        woken = np.clip(woken, asleep, hi)
        run = np.clip(run, woken, hi)
        is_waited_for = frames.edge[owner] >= 0  # not the request's own thread
        idle = np.flatnonzero(is_waited_for & self._has_no_work(record, lo) & (woken > asleep))
        if len(idle):
            last = np.full(len(frames), -1, np.intp)
            last[owner[idle]] = idle  # the last assignment wins
            brought = np.flatnonzero(last >= 0)
            sleep = record[last[brought]]
            sleeps = self._sleeps
            last[brought[(sleeps.waker_io[sleep] < 0) & (sleeps.waker_utid[sleep] < 0)]] = -1
            number = np.arange(len(at))
            before = number < last[owner]
            asleep = np.where(number <= last[owner], lo, asleep)
            woken, run = np.where(before, lo, woken), np.where(before, lo, run)
        return record, asleep, woken, run

    def _has_no_work(self, record: Index, lo: Times) -> npt.NDArray[np.bool_]:
        """Return the sleeps of idle workers, but for an io that they queued since ``lo``.

        Its end brings the rest of the work that it was queued for.
        """
        found: npt.NDArray[np.bool_] = self._sleeps.has_no_work[record]
        by_io = np.flatnonzero(found & (self._sleeps.waker_io[record] >= 0))
        io = self._sleeps.waker_io[record[by_io]]
        is_own = self._ios.submitter[io] == self._sleeps.utid[record[by_io]]
        found[by_io[is_own & (self._ios.queued[io] > lo[by_io])]] = False
        return found
