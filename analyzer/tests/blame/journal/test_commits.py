"""A commit is blamed on those without whom it would have been shorter, for what it would be."""

from __future__ import annotations

import math
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.trace import FUA, OP_WRITE, PREFLUSH
from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

US, KIB = 1000, 1024
ROLES = [
    ("background", "comm:backup"),
    ("foreground", "comm:writer"),
    ("foreground", "comm:client"),
]


class Journal:
    """The writer's fsync from 100 µs on waits for a commit; a writer's and a backup's handles."""

    def __init__(
        self, own: int | None, others: int | None, n_handles: int = 1, *, below: bool = False
    ) -> None:
        self.synth = Synth(ROLES)
        self.fg = self.synth.task("writer", target=True)
        self.bg = self.synth.task("backup")
        self.jbd2 = self.synth.task("jbd2/sda-8", kthread=True)
        self.mapper = self.synth.task("dmcrypt_write/2", kthread=True) if below else self.jbd2
        for task in (self.jbd2, self.bg):
            self.synth.preempt(task, 1, 2)  # they are watched
        if own is not None:
            self.synth.handle(self.fg, 50 * US, 51 * US, blocks=own)
        if others is not None:
            self.synth.handle(self.bg, 40 * US, 61 * US, n=n_handles, blocks=others)

    def commit(self, end: int, **phases: int) -> None:
        """The commit begins at 105 µs and wakes the writer at ``end``."""
        times = {name: at * US for name, at in phases.items()}
        self.synth.request(self.fg, 100 * US, (end + 10) * US)
        self.synth.commit(self.jbd2, 105 * US, end * US, **times)
        self.synth.sleep(
            self.fg, 106 * US, end * US, waker=self.jbd2, reason=WaitReason.JOURNAL_COMMIT
        )

    def write(self, issued: int, done: int, blocks: int, queued: int, wait: int) -> None:
        """The journal thread writes blocks of the log, and waits for them from ``wait`` on."""
        io = self.synth.io(
            self.mapper, queued * US, done * US, issued=issued * US, size=blocks * 4 * KIB
        )
        if self.mapper != self.jbd2:
            self.synth.origin(io, self.jbd2, queued * US)
        if wait < done:
            self.synth.sleep(self.jbd2, wait * US, done * US, io=io, stack=["__wait_on_buffer"])


def brief(rows: list[Found]) -> list[tuple[str, str, float, float]]:
    return [
        (row.kind, row.culprit, round(row.dur / US, 2), round(row.confidence, 3)) for row in rows
    ]


@pytest.mark.parametrize("n_handles", [1, 3000])
@pytest.mark.parametrize("own", [0, 1, 3])
def test_an_inode_changed_again_and_again_is_one_block(own: int, n_handles: int) -> None:
    """Even if all is in that block, and the background was the first to change it."""
    journal = Journal(own=own, others=1, n_handles=n_handles)
    journal.commit(end=190)
    journal.write(130, 150, own + 2, queued=130, wait=130)
    journal.write(160, 180, 1, queued=160, wait=160)
    assert found(journal.synth) == []


def long_log(journal: Journal) -> None:
    """80 blocks and a descriptor in three ios, one after another, then the commit record."""
    journal.commit(end=190)
    journal.write(130, 140, 32, queued=130, wait=130)
    journal.write(140, 150, 32, queued=130, wait=140)
    journal.write(150, 155, 17, queued=130, wait=150)
    journal.write(156, 160, 1, queued=156, wait=156)


@pytest.mark.parametrize("below", [False, True])
def test_blame_begins_when_the_rest_of_the_log_would_have_been_written(below: bool) -> None:
    """The first io, of 32 blocks, would have had 21 and taken 6.7 µs, by the third's time.

    On a CPU it was from 106 to 130, at 155 and from 160 to 190, which is the time of 5.5 blocks and
    of 80, 60 of which were the backup's.
    Below a stacked device, a thread of that device queues the ios.
    """
    journal = Journal(own=20, others=60, below=below)
    long_log(journal)
    cpu, log = brief(found(journal.synth))
    assert cpu == ("condition", "backup", round(55 * 60 / 85.5, 2), 1)
    kind, culprit, dur, confidence = log
    assert (kind, culprit, confidence) == ("io_dependency", "backup", 1)
    assert dur == pytest.approx(25 - 6.7, abs=0.2)


@pytest.mark.parametrize(
    ("others", "logging", "excess_us"), [(60, 129, 20), (0, 129, 0), (60, 130, 20), (60, 132, 0)]
)
def test_blocks_in_the_cache_make_the_flush_before_the_record_longer(
    others: int, logging: int, excess_us: int
) -> None:
    """They are written at once with the rest: only the flush takes longer, 30 µs instead of 10.

    A log that begins with a list of blocks it revokes is queued before the phase, but sent in it.
    What is sent before is data.
    """
    journal = Journal(own=80 - others, others=others)
    synth, op = journal.synth, OP_WRITE | PREFLUSH | FUA
    for begin, blocks in ((10, 21), (30, 81)):
        synth.io(journal.fg, begin * US, (begin + 4) * US, size=blocks * 4 * KIB)
        took = 10 if blocks == 21 else 30
        synth.io(journal.jbd2, (begin + 5) * US, (begin + 5 + took) * US, op=op)
    journal.commit(end=190, flushing=120, logging=logging)
    journal.write(130, 131, 81, queued=129, wait=131)
    record = synth.io(journal.jbd2, 150 * US, 180 * US, issued=175 * US, op=op)
    synth.sleep(journal.jbd2, 150 * US, 180 * US, io=record, stack=["__wait_on_buffer"])
    flush = [row[1:3] for row in brief(found(synth)) if row[0] == "flush"]
    assert flush == [("backup", excess_us)] * bool(excess_us)


def test_few_blocks_of_a_long_log_are_the_end_of_it() -> None:
    """The rest would have ended in the second io, of whose 32 blocks it has 31."""
    journal = Journal(own=62, others=18)
    long_log(journal)
    ((kind, culprit, dur, confidence),) = brief(found(journal.synth))
    assert (kind, culprit, confidence) == ("io_dependency", "backup", 1)
    assert dur == pytest.approx(5.3, abs=0.1)


def test_blocks_that_are_written_at_the_same_time_cost_nothing() -> None:
    journal = Journal(own=20, others=60)
    journal.commit(end=190, logging=129)
    for _ in range(3):
        journal.write(130, 160, 27, queued=130, wait=130)
    assert [row.kind for row in found(journal.synth)] == ["condition"]


def test_a_commit_for_nobody_else_would_not_have_been() -> None:
    journal = Journal(own=None, others=1)
    journal.commit(end=190, flushing=110, logging=120)
    journal.write(130, 150, 2, queued=130, wait=130)
    journal.write(160, 170, 1, queued=160, wait=160)
    assert brief(found(journal.synth)) == [
        ("condition", "backup", 54, 1),
        ("io_dependency", "backup", 30, 1),
    ]


def test_a_commit_with_a_handle_of_the_request_would_have_been() -> None:
    """It changed only what the backup had changed before."""
    journal = Journal(own=0, others=3)
    journal.commit(end=190, logging=185)
    journal.write(186, 188, 4, queued=186, wait=186)
    assert found(journal.synth) == []


def test_until_it_logs_a_commit_does_not_work_for_those_with_most_blocks() -> None:
    """It waits for handles until 150 and writes the client's data; for logging, 2 µs are left."""
    journal = Journal(own=1, others=500)
    client = journal.synth.task("client")
    journal.commit(end=190, flushing=150, logging=188)
    data = journal.synth.io(journal.jbd2, 155 * US, 180 * US)
    journal.synth.cause(data, client)
    journal.synth.sleep(journal.jbd2, 160 * US, 180 * US, io=data, stack=["folio_wait_writeback"])
    # From 180 to 188 it runs in one piece with the logging that follows.
    assert brief(found(journal.synth)) == [("condition", "backup", round(2 * 500 / 506.5, 2), 1)]


def test_who_is_woken_to_commit_is_at_it_from_then_on() -> None:
    """Its turn on the CPU began at 104 µs, before the commit; its log's io does not matter."""
    journal = Journal(own=20, others=10)
    journal.synth.sleep(journal.jbd2, 80 * US, 104 * US, waker=journal.fg)
    journal.commit(end=190)
    journal.write(140, 190, 31, queued=130, wait=190)
    assert found(journal.synth) == []


def test_waiting_for_a_cpu_does_not_depend_on_blocks() -> None:
    journal = Journal(own=1, others=500)
    client = journal.synth.task("client")
    journal.commit(end=190)
    journal.synth.preempt(journal.jbd2, 110 * US, 185 * US, ran=client)
    rows = brief(found(journal.synth))
    assert rows == [("condition", "backup", round(9 * 500 / 506.5, 2), 1)]


def test_ordered_data_of_the_background_that_a_commit_queues() -> None:
    """Until it queued the backup's pages, it probably looked for them."""
    journal = Journal(own=1, others=1)
    journal.commit(end=190, flushing=106, logging=187)
    data = journal.synth.io(journal.jbd2, 130 * US, 180 * US)
    journal.synth.cause(data, journal.bg)
    journal.synth.sleep(journal.jbd2, 130 * US, 180 * US, io=data, stack=["folio_wait_writeback"])
    assert brief(found(journal.synth)) == [
        ("io_dependency", "backup", 50, 1),
        ("condition", "backup", 24, 0.75),
    ]


def test_without_blocks_handles_are_believed_by_half() -> None:
    """Recordings of older versions; the commit tells how many blocks it logged."""
    journal = Journal(own=None, others=None)
    journal.synth.handle(journal.fg, 50 * US, 51 * US, n=1)
    journal.synth.handle(journal.bg, 50 * US, 61 * US, n=9)
    journal.synth.request(journal.fg, 100 * US, 200 * US)
    journal.synth.commit(journal.jbd2, 105 * US, 190 * US, n_blocks=101)
    journal.synth.sleep(
        journal.fg, 106 * US, 190 * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT
    )
    assert brief(found(journal.synth)) == [
        ("condition", "backup", round(84 * 0.9 * 100 / 105.5, 2), 0.5)
    ]


class Disk(NamedTuple):
    """Takes ``each_us`` for an io, ``block_us`` more for each block of it."""

    each_us: int
    block_us: int
    io_blocks: int
    parallel: bool

    def sizes(self, n_blocks: int) -> list[int]:
        """Split a log into ios."""
        whole, rest = divmod(n_blocks, self.io_blocks)
        return [self.io_blocks] * whole + [rest] * (rest > 0)

    def io_us(self, blocks: int) -> int:
        return self.each_us + self.block_us * blocks

    def log_us(self, n_blocks: int) -> int:
        times = [self.io_us(size) for size in self.sizes(n_blocks)]
        return max(times) if self.parallel else sum(times)


DISK = st.builds(
    Disk,
    st.integers(5, 200),
    st.integers(0, 9),
    st.sampled_from((1, 2, 8, 32, 128)),
    st.booleans(),
)


def play(disk: Disk, own: int, others: int) -> int:
    """Record a commit on that disk; return the time in µs that its log is blamed for."""
    journal = Journal(own=own, others=others)
    for number in range(8):  # the disk was seen with all sizes before
        journal.synth.io(journal.fg, 3, 3 + disk.io_us(1 << number) * US, size=4 * KIB << number)
    log, begin, at = disk.sizes(own + others + 1), 1000, 1000
    ends: list[int] = []
    for size in log:
        issued = begin if disk.parallel else at
        at = issued + disk.io_us(size)
        wait = ends[-1] if ends else begin
        ends.append(max(wait, at))
        journal.write(issued, at, size, queued=begin, wait=wait)
    record = ends[-1] + 1
    journal.write(record, record + disk.io_us(1), 1, queued=record, wait=record)
    journal.commit(end=record + disk.io_us(1) + 20, logging=999)
    return sum(row.dur for row in found(journal.synth) if row.kind == "io_dependency") // US


@given(DISK, st.integers(1, 60), st.integers(0, 200))
def test_the_log_is_blamed_for_what_it_would_have_been_shorter(
    disk: Disk, own: int, others: int
) -> None:
    with_others, alone = disk.log_us(own + others + 1), disk.log_us(own + 1)
    blamed, real = play(disk, own, others), with_others - alone
    # Sizes are known by their binary logarithm, and a tenth is jitter.
    blur = disk.block_us * min(disk.io_blocks, own + others + 1) // 2 + 1
    assert blamed <= real + blur
    assert blamed >= real - blur - math.ceil(0.1 * with_others)


@given(DISK, st.integers(1, 60), st.integers(0, 200))
def test_no_log_is_blamed_that_takes_the_same_time_anyway(
    disk: Disk, own: int, others: int
) -> None:
    disk = disk._replace(block_us=0)
    if disk.parallel or len(disk.sizes(own + 1)) == len(disk.sizes(own + others + 1)):
        assert play(disk, own, others) == 0
