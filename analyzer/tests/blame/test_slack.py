"""What a request would have waited for anyway, at the same time, is nobody's doing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

US = 1000
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]
WRITEBACK = "folio_wait_writeback"


class Fsync:
    """The writer's fsync from 100 µs on; times are in µs."""

    def __init__(self, end: int = 200) -> None:
        self.synth = Synth(ROLES)
        self.fg, self.bg = self.synth.task("writer", target=True), self.synth.task("backup")
        self.jbd2 = self.synth.task("jbd2/sda-8", kthread=True)
        for task in (self.bg, self.jbd2):
            self.synth.preempt(task, 1, 2)  # they are watched
        self.synth.request(self.fg, 100 * US, end * US)
        self.sizes: dict[int, int] = {}

    def write(self, by: int, begin: int, end: int, *, issued: int = 0, own: int = 10) -> int:
        """Queue an io of ten pages, of which the writer dirtied *own* and the backup the rest.

        One of the backup's alone is twice as large, so that its time is not that of the others.
        """
        size, issued = 40960 if own else 81920, issued or begin
        io = self.synth.io(by, begin * US, end * US, issued=issued * US, size=size)
        for task, pages in ((self.fg, own), (self.bg, 10 - own)):
            if pages:
                self.synth.cause(io, task, n_pages=pages)
        self.sizes.setdefault(size, end - issued)
        return io

    def wait(self, task: int, io: int, begin: int, end: int) -> None:
        self.synth.sleep(task, begin * US, end * US, io=io, stack=[WRITEBACK])

    def delayed(self, begin: int = 106, end: int = 180, *, by: int = 0) -> None:
        """The writer waits from 110 on for an io of the backup's pages, which it queued itself."""
        self.wait(self.fg, self.write(by or self.fg, begin, end, own=0), 110, end)

    def blamed(self) -> dict[str, float]:
        """Return the blamed µs by kind. The disk is seen to serve one of each size alone, too."""
        for number, (size, dur) in enumerate(self.sizes.items(), 2):
            self.synth.io(self.jbd2, number * 1000 * US, (number * 1000 + dur) * US, size=size)
        return {row.kind: row.dur / US for row in found(self.synth)}


def test_what_a_wait_takes_longer_than_for_the_rest_is_the_backups() -> None:
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150)
    fsync.delayed()
    assert fsync.blamed() == {"io_dependency": 30}


def test_without_a_write_of_its_own_all_is_the_backups() -> None:
    fsync = Fsync()
    fsync.delayed()
    assert fsync.blamed() == {"io_dependency": 70}


def test_a_write_that_takes_longer_leaves_nothing() -> None:
    """It is waited for afterwards, so the other one made no difference."""
    fsync = Fsync()
    mine = fsync.write(fsync.fg, 105, 190)
    fsync.delayed()
    fsync.wait(fsync.fg, mine, 181, 190)
    assert fsync.blamed() == {}


@pytest.mark.parametrize(("queued", "blamed"), [(140, 50), (95, 0)])
def test_what_another_task_queues_meanwhile_is_there_only_for_the_wait(
    queued: int, blamed: int
) -> None:
    """The writer would have gone on before there was anything to wait for."""
    fsync = Fsync()
    fsync.delayed(106, 160)
    mine = fsync.write(fsync.jbd2, queued, 190)
    fsync.wait(fsync.fg, mine, 160, 190)
    assert fsync.blamed() == ({"io_dependency": blamed} if blamed else {})


def test_a_write_that_had_to_queue_may_have_had_to_for_the_backup() -> None:
    """With one command at a time: without the backup's, its own would have been over at 135."""
    fsync = Fsync()
    mine = fsync.write(fsync.fg, 105, 190, issued=160)
    fsync.delayed(104, 160)
    fsync.wait(fsync.fg, mine, 161, 190)
    assert fsync.blamed()["io_dependency"] == 50


def test_a_short_one_that_had_to_queue_counts_for_as_long_as_it_takes_alone() -> None:
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150, issued=120)
    fsync.delayed(104, 180)
    assert fsync.blamed() == {"io_dependency": 180 - 135}


def test_another_tasks_write_is_not_waited_for() -> None:
    fsync = Fsync()
    fsync.write(fsync.jbd2, 105, 150)
    fsync.delayed()
    assert fsync.blamed() == {"io_dependency": 70}


@pytest.mark.parametrize("lock", [False, True])
def test_who_waits_for_a_lock_does_not_wait_for_its_writes(lock: bool) -> None:
    """It may have queued them long before, and not wait for them at all."""
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150)
    if lock:
        fsync.synth.sleep(
            fsync.fg, 110 * US, 180 * US, waker=fsync.bg, reason=WaitReason.LOCK, obj=0xFF00
        )
    assert fsync.blamed() == ({"lock": 70} if lock else {})


def test_what_the_backup_waits_for_would_not_have_been() -> None:
    """The backup has the lock while it writes its own and the writer's pages."""
    fsync = Fsync()
    fsync.synth.sleep(
        fsync.fg, 110 * US, 185 * US, waker=fsync.bg, reason=WaitReason.LOCK, obj=0xFF00
    )
    fsync.write(fsync.bg, 105, 150)
    theirs = fsync.write(fsync.bg, 106, 180, own=0)
    fsync.wait(fsync.bg, theirs, 110, 180)
    assert fsync.blamed() == {"lock": 75}


def test_the_journal_threads_log_takes_its_time_beside_the_backups_data() -> None:
    fsync = Fsync()
    synth = fsync.synth
    synth.handle(fsync.fg, 50 * US, 51 * US, blocks=1)
    synth.commit(fsync.jbd2, 105 * US, 190 * US, flushing=106 * US, logging=108 * US)
    synth.sleep(fsync.fg, 104 * US, 190 * US, waker=fsync.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    data = fsync.write(fsync.jbd2, 107, 170, own=0)
    synth.io(fsync.jbd2, 109 * US, 150 * US)
    synth.io(fsync.jbd2, 800 * US, 841 * US)
    fsync.wait(fsync.jbd2, data, 110, 170)
    assert fsync.blamed()["io_dependency"] == 20


def test_its_own_page_among_the_backups_takes_as_long_as_a_page() -> None:
    """Which of the ios has it is not known; 12 KiB take 25 µs on this disk, as 8 do."""
    fsync = Fsync()
    fsync.synth.io(fsync.bg, 10 * US, 35 * US, size=16384)
    for at in range(3):
        io = fsync.write(fsync.fg, 105 + at, 170 + at, own=1)
    fsync.wait(fsync.fg, io, 110, 172)
    assert fsync.blamed()["io_dependency"] == 172 - 130


def test_a_wait_before_more_is_queued_delays_that_too() -> None:
    """Its first write is over by 150, but the next one is queued at 181."""
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150)
    fsync.delayed(90, 180, by=fsync.bg)
    fsync.write(fsync.fg, 181, 195)
    assert fsync.blamed() == {"io_dependency": 70}


def test_a_write_of_another_request_need_not_be_waited_for() -> None:
    fsync = Fsync()
    fsync.write(fsync.fg, 95, 150)
    fsync.delayed()
    assert fsync.blamed() == {"io_dependency": 70}


def test_who_waits_for_a_read_does_not_wait_for_its_writes() -> None:
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150)
    theirs = fsync.synth.io(fsync.bg, 106 * US, 180 * US, size=16384, op=0)
    fsync.synth.sleep(
        fsync.fg, 110 * US, 180 * US, io=theirs, stack=["__wait_on_buffer", "ext4_bread"]
    )
    assert fsync.blamed() == {"io_dependency": 70}


def test_a_disk_that_was_never_alone_gives_no_slack() -> None:
    """What its own write takes among others may be their doing."""
    fsync = Fsync()
    fsync.write(fsync.fg, 105, 150)
    fsync.delayed()
    fsync.sizes.clear()
    assert fsync.blamed() == {"io_dependency": 70}


def test_inside_the_device_its_own_io_may_have_queued_behind_the_other() -> None:
    """One after another: without the backup's, its own would have been over at 135."""
    fsync = Fsync()
    mine = fsync.write(fsync.fg, 105, 190)
    fsync.sizes[40960] = 30
    fsync.delayed(104, 160)
    fsync.wait(fsync.fg, mine, 160, 190)
    # Of its own wait 30 are the device's excess, which is blamed, or all is left of the first one.
    assert sum(fsync.blamed().values()) == pytest.approx(50, abs=1)


def test_those_who_work_for_the_backup_have_no_slack() -> None:
    """It has the lock while the journal thread commits for it, log beside data."""
    fsync = Fsync()
    synth = fsync.synth
    synth.sleep(fsync.fg, 110 * US, 185 * US, waker=fsync.bg, reason=WaitReason.LOCK, obj=0xFF00)
    synth.sleep(fsync.bg, 104 * US, 184 * US, waker=fsync.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    synth.commit(fsync.jbd2, 105 * US, 184 * US, logging=106 * US)
    data = fsync.write(fsync.jbd2, 107, 180, own=0)
    for at in (108, 800):
        synth.io(fsync.jbd2, at * US, (at + 62) * US)
    fsync.wait(fsync.jbd2, data, 110, 180)
    assert fsync.blamed() == {"lock": 75}


@pytest.mark.parametrize("small_first", [True, False])
def test_own_pages_take_as_long_whichever_io_was_queued_first(small_first: bool) -> None:
    """16 pages take 60 µs; 1 of 2 pages and 15 of 30 are the writer's."""
    fsync = Fsync(end=400)
    synth = fsync.synth
    synth.io(fsync.jbd2, 900 * US, 960 * US, size=65536)
    sizes = (2, 30) if small_first else (30, 2)
    for number, pages in enumerate(sizes):
        end = 190 if pages == 30 else 140
        io = synth.io(fsync.fg, (105 + number) * US, end * US, size=pages * 4096)
        for task in (fsync.fg, fsync.bg):
            synth.cause(io, task, n_pages=pages // 2)
        if pages == 30:
            theirs = io
    fsync.wait(fsync.fg, theirs, 110, 190)
    (dur,) = [row.dur / US for row in found(synth) if row.kind == "io_dependency"]
    assert dur == pytest.approx(190 - 165, abs=1)


@pytest.mark.parametrize("n_ios", [1, 3, 8])
@pytest.mark.parametrize("size", [524288, (1 << 32) - 4096])
def test_own_pages_of_many_large_ios_take_no_longer_than_the_largest(n_ios: int, size: int) -> None:
    fsync = Fsync()
    synth = fsync.synth
    for number in range(n_ios):
        io = synth.io(fsync.fg, (105 + number) * US, (150 + 4 * number) * US, size=size)
        for task in (fsync.fg, fsync.bg):
            synth.cause(io, task, n_pages=size // 8192)
    end = 146 + 4 * n_ios
    fsync.wait(fsync.fg, io, 120, end)
    # Half of the first one's pages take 45 µs at most: to 150.
    assert sum(fsync.blamed().values()) <= end - 120
    assert (n_ios == 1) or sum(fsync.blamed().values()) > 0


@given(
    st.lists(st.integers(0, 60), max_size=6),
    st.integers(1, 40),
    st.integers(0, 60),
    st.integers(1, 40),
)
def test_slack_is_the_time_that_own_writes_cover(
    writes: list[int], dur: int, begin: int, took: int
) -> None:
    """The disk takes the same time for each, and serves any number at once."""
    fsync = Fsync(end=400)
    end = begin + took
    writes = [at for at in writes if at < end]
    for at in writes:
        fsync.write(fsync.fg, 110 + at, 110 + at + dur)
    theirs = fsync.write(fsync.bg, 101, 110 + end, own=0)
    fsync.wait(fsync.fg, theirs, 110 + begin, 110 + end)
    covered = {time for at in writes for time in range(at, at + dur)}
    assert sum(fsync.blamed().values()) == len(set(range(begin, end)) - covered)


@pytest.mark.parametrize(("op", "blamed"), [(2, 0), (1, 45)], ids=["a flush", "a write"])
def test_a_wait_for_the_cpu_beside_an_io_that_a_worker_queues(op: int, blamed: int) -> None:
    """The writer asked for the flush before; a write may be there only for the wait."""
    fsync = Fsync()
    worker = fsync.synth.task("kworker/0:1H", kthread=True)
    fsync.synth.preempt(worker, 1, 2)
    io = fsync.synth.io(worker, 103 * US, 180 * US, op=op, size=0 if op == 2 else 4096)
    fsync.synth.preempt(fsync.fg, 105 * US, 150 * US, ran=fsync.bg)
    fsync.synth.sleep(fsync.fg, 151 * US, 180 * US, io=io, stack=["submit_bio_wait"])
    assert fsync.blamed() == ({"cpu": blamed} if blamed else {})
