"""Blocks that the journal has committed are written in place for those who changed them."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import WaitReason

US, S = 1000, 1_000_000_000
PART = DEVICE + 1
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]
SPACE = ["schedule", "io_schedule", "jbd2_log_do_checkpoint", "__jbd2_log_wait_for_space"]


class Journal:
    """Transactions of so many blocks (writer's, backup's), committed one after another."""

    def __init__(self, *transactions: tuple[int, int], step: int = 100 * US) -> None:
        self.synth = Synth(ROLES)
        self.fg, self.bg = self.synth.task("writer", target=True), self.synth.task("backup")
        self.jbd2 = self.synth.task("jbd2/sda-8", kthread=True)
        self.flusher = self.synth.task("kworker/u8:1", kthread=True)
        for number, (own, others) in enumerate(transactions, 1):
            at = number * step
            for task, blocks in ((self.fg, own), (self.bg, others)):
                if blocks:
                    self.synth.handle(task, at, at + 1, transaction=number, blocks=blocks, dev=PART)
            n_blocks = own + others + 1  # with the descriptor
            self.synth.commit(
                self.jbd2, at + 2, at + 50 * US, transaction=number, n_blocks=n_blocks, dev=PART
            )
            self.synth.io(self.jbd2, at + 3, at + 40 * US)
        self.now = (len(transactions) + 1) * step

    def in_place(self, by: int, *, marked: bool = True) -> int:
        """Write a block in place; *marked*: jbd2 is recorded to have dirtied it."""
        io = self.synth.io(by, self.now + 10 * US, self.now + 60 * US)
        if marked:
            self.synth.cause(io, self.jbd2)
        return io

    def shares(self) -> dict[str, float]:
        """Return whose the last io is."""
        trace = trace_of(self.synth)
        causes = io_causes(trace)
        of = causes.of_io[-1]
        if of < 0:
            return {}
        members = slice(causes.sets.start[of], causes.sets.start[of + 1])
        names = [trace.tasks.comm[utid] for utid in causes.sets.utid[members]]
        return dict(
            zip(names, causes.sets.share[members].astype(float).round(3).tolist(), strict=True)
        )


def test_a_block_is_of_those_who_filled_the_journal() -> None:
    journal = Journal((1, 9), (0, 20))
    journal.in_place(journal.flusher)
    assert journal.shares() == {"writer": 0.033, "backup": 0.967}


def test_what_no_longer_fits_into_the_journal_does_not_count() -> None:
    """A transaction has at most a quarter of it: there is room for four of the largest."""
    journal = Journal((100, 0), *[(1, 99)] * 4)
    journal.in_place(journal.flusher)
    assert journal.shares() == {"writer": 0.01, "backup": 0.99}


def test_what_was_dirtied_long_ago_has_been_written() -> None:
    journal = Journal((100, 0), (10, 0), (1, 9), step=20 * S)
    journal.in_place(journal.flusher)
    assert journal.shares() == {"writer": 0.55, "backup": 0.45}


def test_what_the_journals_thread_writes_is_not_in_place() -> None:
    """Its superblock, say."""
    journal = Journal((1, 9))
    journal.in_place(journal.jbd2)
    assert journal.shares() == {}


def test_nor_if_a_thread_of_dm_crypt_queues_it_below() -> None:
    journal = Journal((1, 9))
    io = journal.in_place(journal.synth.task("dmcrypt_write/2", kthread=True))
    journal.synth.origin(io, journal.jbd2, journal.now)
    assert journal.shares() == {"jbd2/sda-8": 1}  # for whom it is below


def test_the_log_is_the_transactions_though_its_thread_has_dirtied_pages_of_the_device() -> None:
    journal = Journal((1, 9), (5, 5))
    log = journal.synth.io(journal.jbd2, 2 * 100 * US + 5, 2 * 100 * US + 30 * US)
    journal.synth.cause(log, journal.jbd2)
    assert journal.shares() == {"writer": 0.5, "backup": 0.5}


def test_another_transaction_that_has_not_ended_has_dirtied_nothing() -> None:
    journal = Journal((1, 9))
    journal.synth.handle(
        journal.fg, journal.now - 5, journal.now, transaction=2, blocks=500, dev=PART
    )
    journal.synth.commit(
        journal.jbd2, journal.now, journal.now + S, transaction=2, n_blocks=501, dev=PART
    )
    journal.in_place(journal.flusher)
    assert journal.shares() == {"writer": 0.1, "backup": 0.9}


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(("own", "others", "guilty_us"), [(1, 9, 45), (6, 4, 20), (10, 0, 0)])
def test_who_writes_old_blocks_to_get_room_waits_for_who_filled_the_journal(
    own: int, others: int, guilty_us: int, marked: bool
) -> None:
    """The journal is on a partition; ios are recorded with the whole disk."""
    journal = Journal((own, others))
    synth, now = journal.synth, journal.now
    io = journal.in_place(journal.fg, marked=marked)
    synth.request(journal.fg, now + 9 * US, now + 70 * US)
    synth.sleep(journal.fg, now + 10 * US, now + 60 * US, io=io, stack=SPACE)
    rows = [(row.kind, row.culprit, round(row.dur / US)) for row in found(synth)]
    assert rows == ([("io_dependency", "backup", guilty_us)] if guilty_us else [])


def test_who_makes_room_for_all_with_a_lock_is_blamed_for_its_share() -> None:
    """The writer waits for the lock from 5 to 65 µs; the backup's write takes 50 of them."""
    journal = Journal((4, 6))
    synth, now = journal.synth, journal.now
    synth.preempt(journal.bg, 1, 2)
    io = journal.in_place(journal.bg)
    synth.request(journal.fg, now, now + 70 * US)
    synth.sleep(
        journal.fg,
        now + 5 * US,
        now + 65 * US,
        waker=journal.bg,
        reason=WaitReason.LOCK,
        obj=0xFF00,
    )
    synth.sleep(journal.bg, now + 10 * US, now + 60 * US, io=io, stack=SPACE)
    rows = [(row.kind, row.culprit, round(row.dur / US)) for row in found(synth)]
    assert rows == [("lock", "backup", 10 + 30)]


def test_an_unmarked_block_that_nobody_needs_room_for_is_of_who_writes_it() -> None:
    journal = Journal((1, 9))
    journal.in_place(journal.flusher, marked=False)
    assert journal.shares() == {}


def test_a_recording_without_commits_has_no_blocks_of_them() -> None:
    journal = Journal()
    io = journal.in_place(journal.fg, marked=False)
    journal.synth.sleep(journal.fg, journal.now, journal.now + 60 * US, io=io, stack=SPACE)
    assert journal.shares() == {}
