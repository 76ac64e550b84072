"""XFS's log: workers write it, but who needs it on disk the last buffer; a worker takes note."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.causes import JOURNAL, io_causes
from rcp.analyzer.blame.journal.transactions import activities, journal_threads
from rcp.analyzer.blame.owners import Blame
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.fixtures.synth import DEVICE, Synth

US, KIB = 1000, 1024
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]
FORCE = ["schedule", "xlog_wait_on_iclog", "xfs_log_force_seq"]


class Log:
    """The writer's fsync from 100 to 240 µs; the checkpoint has so many of its and the backup's.

    A worker writes two full buffers, in 20 µs each, one after another, and the writer the last one.
    It waits for the worker until 180 µs, and from 186 µs on for another one, which takes note of
    the checkpoint from 207 to 232 µs.
    """

    def __init__(self, own: int, others: int) -> None:
        self.synth = Synth(ROLES)
        self.fg, self.bg = self.synth.task("writer", target=True), self.synth.task("backup")
        self.worker = self.synth.task("kworker/u4:1", kthread=True)
        self.noting = self.synth.task("kworker/0:1H", kthread=True)
        for task in (self.worker, self.noting, self.bg):
            self.synth.preempt(task, 1, 2)  # they are watched
        for task, blocks in ((self.fg, own), (self.bg, others)):
            if blocks:
                self.synth.handle(task, 50 * US, 50 * US, blocks=blocks)
        self.synth.request(self.fg, 100 * US, 240 * US)
        self.first, self.second = (self._io(self.worker, 120, done, 32) for done in (140, 160))
        self.synth.sleep(self.worker, 120 * US, 160 * US, io=self.second, stack=FORCE)
        self.last = self._io(self.fg, 185, 205, 4)
        self.synth.sleep(self.noting, 90 * US, 205 * US, io=self.last)
        for task, since, until in (
            (self.worker, 106, 180),
            (self.fg, 184, 186),
            (self.noting, 207, 232),
        ):
            self.synth.commit(task, since * US, until * US, n_blocks=own + others)
        self.synth.sleep(self.fg, 106 * US, 180 * US, waker=self.worker, stack=FORCE)
        self.synth.sleep(self.fg, 186 * US, 235 * US, waker=self.noting, stack=FORCE)

    def _io(self, by: int, queued: int, done: int, kib: int) -> int:
        return self.synth.io(by, queued * US, done * US, size=kib * KIB)

    def blamed(self) -> dict[str, float]:
        """Return for how many µs the backup is to blame, by kind."""
        sums: dict[str, float] = {}
        for row in found(self.synth):
            assert row.culprit == "backup"
            sums[row.kind] = sums.get(row.kind, 0) + round(row.dur / US, 2)
        return sums


def test_the_rest_would_have_been_written_in_the_first_buffer() -> None:
    """2 of 1,000 blocks: of 68 KiB, 0.2. Blame begins when the first io would have written that.

    It would have taken 20 µs as well: as long as 4 KiB do. The CPU time is 14 µs before and 20 µs
    after the worker's ios, and 25 µs for taking note.
    """
    blamed = Log(own=2, others=998).blamed()
    assert blamed["condition"] == pytest.approx(59 * 998 / 1004, abs=0.2)
    # the second full buffer until 160 µs, and the wait for the last one from 186 µs on
    assert blamed["io_dependency"] == 20 + 19


def test_every_buffer_is_the_logs_whoever_writes_it() -> None:
    log = Log(own=1, others=1)
    causes = io_causes(trace_of(log.synth))
    assert causes.kind.tolist() == [JOURNAL] * 3
    assert len(set(causes.of_io.tolist())) == 1
    assert causes.n_blocks.tolist() == [2.0] * 3  # of each row of the checkpoint


def test_a_checkpoint_without_the_backup_is_nobody_elses() -> None:
    assert Log(own=1000, others=0).blamed() == {}


@given(own=st.integers(1, 500), others=st.integers(1, 500), more=st.integers(1, 500))
def test_who_changes_more_is_not_blamed_for_less(own: int, others: int, more: int) -> None:
    few, many = (sum(Log(own, n).blamed().values()) for n in (others, others + more))
    assert few <= many + 0.05


def test_what_a_worker_does_after_a_checkpoint_is_not_for_it() -> None:
    log = Log(own=2, others=998)
    later = log.synth.io(log.worker, 190 * US, 200 * US)
    causes = io_causes(trace_of(log.synth))
    assert causes.of_io[later - 1] == -1


def test_tasks_with_two_rows_in_a_transaction_have_both() -> None:
    """So it is when more tasks have changed something meanwhile than are summed at a time."""
    log = Log(own=2, others=3)
    log.synth.handle(log.bg, 60 * US, 60 * US, blocks=5)
    causes = io_causes(trace_of(log.synth))
    assert causes.n_blocks.tolist() == [10.0] * 3
    of = causes.of_io[0]
    shares = causes.sets.share[causes.sets.start[of] : causes.sets.start[of + 1]]
    assert sorted(shares.round(2).tolist()) == pytest.approx([0.2, 0.8])


class TestInPlace:
    """xfsaild writes what checkpoints had, which have a row with its name."""

    def shares(self, *checkpoints: tuple[int, int], named: bool = True) -> dict[str, float]:
        synth = Synth(ROLES)
        fg, bg = synth.task("writer", target=True), synth.task("backup")
        thread, other = (synth.task(f"xfsaild/sda{n}", kthread=True) for n in (1, 2))
        for number, (own, others) in enumerate(checkpoints, 1):
            worker = synth.task(f"kworker/u4:{number}", kthread=True)
            at = number * 100 * US
            for task, blocks in ((fg, own), (bg, others)):
                if blocks:
                    synth.handle(task, at, at, transaction=number, blocks=blocks)
            rows = [(worker, 10, 50), (worker, 60, 70), *([(thread, 71, 71)] if named else [])]
            for task, since, until in rows:
                synth.commit(
                    task,
                    at + since * US,
                    at + until * US,
                    transaction=number,
                    n_blocks=own + others,
                )
            # The log is on another device; what others write to this one does not matter.
            synth.io(worker, at + 20 * US, at + 40 * US, dev=DEVICE + 9)
            synth.handle(fg, at, at, transaction=number, blocks=50, dev=DEVICE + 5)
            synth.commit(worker, at + 80 * US, at + 81 * US, transaction=number, dev=DEVICE + 5)
            synth.commit(other, at + 82 * US, at + 82 * US, transaction=number, dev=DEVICE + 5)
            synth.io(worker, at + 80 * US, at + 90 * US)
        now = (len(checkpoints) + 1) * 100 * US
        synth.io(thread, now, now + 20 * US)
        trace = trace_of(synth)
        causes = io_causes(trace)
        of = causes.of_io[-1]
        if of < 0:
            return {}
        of_set = slice(causes.sets.start[of], causes.sets.start[of + 1])
        names = [trace.tasks.comm[utid] for utid in causes.sets.utid[of_set]]
        return dict(zip(names, causes.sets.share[of_set].round(3).tolist(), strict=True))

    def test_it_is_of_those_who_have_filled_the_log(self) -> None:
        assert self.shares((1, 9), (0, 10)) == pytest.approx({"writer": 0.05, "backup": 0.95})

    def test_without_a_checkpoint_that_names_it_it_is_nobodys(self) -> None:
        assert self.shares() == {}
        assert self.shares((1, 9), named=False) == {}


def test_who_waits_for_the_disk_meanwhile_waits_for_the_rest_too() -> None:
    """It would have been written by 140 µs: so long the first io takes, and half of the second."""
    log = Log(own=2, others=998)
    trace = trace_of(log.synth)
    causes = io_causes(trace)
    excess = Blame.of(causes, Suspects(trace.tasks)).io_excess
    assert excess.share.tolist() == pytest.approx([0, 0.5, 1], abs=0.01)


def test_a_new_ext4_on_the_device_begins_its_numbers_anew() -> None:
    """Transactions of jbd2 are not taken for one another's, as rows of a checkpoint are."""
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    old, new = (synth.task(f"jbd2/sda-{n}", kthread=True) for n in (8, 9))
    synth.handle(fg, 10 * US, 11 * US, blocks=1)
    synth.commit(old, 12 * US, 20 * US, n_blocks=2)
    synth.handle(bg, 110 * US, 111 * US, blocks=1000)
    synth.commit(new, 112 * US, 120 * US, n_blocks=1001)
    causes = io_causes(trace_of(synth))
    assert causes.of_commit[0] != causes.of_commit[1]


def test_who_writes_the_last_buffer_is_in_its_fsync_all_the_time() -> None:
    log = Log(own=2, others=998)
    trace = trace_of(log.synth)
    [fg] = np.flatnonzero([comm == "writer" for comm in trace.tasks.comm])
    times = np.array([150, 185, 200]) * US
    assert len(set(activities(trace, np.full(3, fg, np.int32), times).tolist())) == 1


def test_who_writes_the_last_buffer_is_no_journal_thread() -> None:
    assert journal_threads(trace_of(Log(own=2, others=998).synth)).tolist() == []
