"""A flush is for those who asked for it, not for the worker that queues it."""

from __future__ import annotations

import pytest

from rcp.analyzer.arrays.trace import FUA, OP_FLUSH, OP_WRITE, PREFLUSH
from rcp.analyzer.blame.causes import CAUSE_KINDS, FLUSH, io_causes
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import WaitReason

US, MIB = 1000, 1 << 20
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]


class Disk:
    """A disk with a cache; times are in µs."""

    def __init__(self) -> None:
        self.synth = Synth(ROLES)
        self.fg, self.bg = self.synth.task("writer", target=True), self.synth.task("backup")
        self.jbd2 = self.synth.task("jbd2/sda-8", kthread=True)
        self.worker = self.synth.task("kworker/0:1H", kthread=True)
        for task in (self.bg, self.jbd2, self.worker):
            self.synth.preempt(task, 1, 2)  # they are watched

    def flush(self, begin: int, end: int, *askers: int) -> int:
        io = self.synth.io(self.worker, begin * US, end * US, op=OP_FLUSH, size=0)
        for task in askers:
            self.synth.sleep(task, (begin - 1) * US, end * US, io=io, stack=["submit_bio_wait"])
        return io

    def cause_of(self, io: int) -> dict[str, float] | None:
        """Return who asked for a flush, None if that is not known."""
        trace = trace_of(self.synth)
        causes = io_causes(trace)
        if causes.kind[io - 1] != FLUSH:
            return None
        sets, number = causes.sets, causes.of_io[io - 1]
        members = range(sets.start[number], sets.start[number + 1])
        return {trace.tasks.comm[sets.utid[at]]: float(sets.share[at]) for at in members}


def test_kinds_of_causes_are_in_order() -> None:
    assert CAUSE_KINDS[FLUSH] == "flush"


def test_who_sleeps_until_its_end_asked_for_it() -> None:
    disk = Disk()
    other = disk.synth.task("other")
    io = disk.flush(100, 200, disk.bg, other)
    assert disk.cause_of(io) == {"backup": 0.5, "other": 0.5}


def test_what_the_foreground_asked_for_is_its_alone() -> None:
    disk = Disk()
    assert disk.cause_of(disk.flush(100, 200, disk.bg, disk.fg)) == {"writer": 1.0}


@pytest.mark.parametrize("stack", ["blk_mq_get_tag", "folio_wait_writeback", "__wait_on_buffer"])
def test_who_waits_for_a_tag_or_what_another_one_wrote_asked_for_nothing(stack: str) -> None:
    """Its end wakes them too."""
    disk = Disk()
    io = disk.flush(100, 200, disk.bg)
    disk.synth.sleep(disk.fg, 110 * US, 200 * US, io=io, stack=[stack])
    assert disk.cause_of(io) == {"backup": 1.0}


def test_a_worker_that_it_wakes_asked_for_nothing() -> None:
    disk = Disk()
    assert disk.cause_of(disk.flush(100, 200, disk.worker)) is None


@pytest.mark.parametrize(
    ("got", "issued", "flags", "expected"),
    [
        (95, 205, PREFLUSH, {"backup": 1.0}),
        (95, 505, PREFLUSH, {"backup": 1.0}),  # of two flushes meanwhile the first is its own
        (150, 295, PREFLUSH, None),  # it came while the flush ran, and waits for the next one
        (95, 97, FUA, None),  # it was written before
    ],
)
def test_a_write_that_waits_for_a_flush_asked_for_it(
    got: int, issued: int, flags: int, expected: dict[str, float] | None
) -> None:
    disk = Disk()
    io = disk.flush(100, 200)
    disk.synth.io(disk.bg, got * US, 600 * US, issued=issued * US, op=OP_WRITE | flags, size=4096)
    assert disk.cause_of(io) == expected


@pytest.mark.parametrize("has_preflush", [True, False])
def test_a_write_with_fua_alone_asked_for_nothing(has_preflush: bool) -> None:
    """Older probes lost PREFLUSH: without any in a recording, FUA stands for it."""
    disk = Disk()
    io = disk.flush(100, 200)
    disk.synth.io(disk.bg, 95 * US, 600 * US, issued=205 * US, op=OP_WRITE | FUA, size=4096)
    if has_preflush:
        disk.synth.io(disk.fg, 700 * US, 750 * US, op=OP_WRITE | PREFLUSH, size=4096)
    assert disk.cause_of(io) == (None if has_preflush else {"backup": 1.0})


@pytest.mark.parametrize(
    ("askers", "expected"),
    [
        (["backup"], {"backup": 1.0}),
        (["writer"], {"writer": 1.0}),
        (["backup", "writer"], {"writer": 1.0}),
        ([], {"writer": 1.0}),
    ],
)
def test_a_journal_asks_for_who_asked_for_its_commit(
    askers: list[str], expected: dict[str, float]
) -> None:
    """The writer has a block in it. That counts only if it asked too, or nobody did."""
    disk = Disk()
    synth, tasks = disk.synth, {"backup": disk.bg, "writer": disk.fg}
    synth.commit(disk.jbd2, 95 * US, 310 * US, logging=96 * US)
    for task in tasks.values():
        synth.handle(task, 50 * US, 60 * US)
    for comm in askers:
        reason = WaitReason.JOURNAL_COMMIT
        synth.sleep(tasks[comm], 94 * US, 310 * US, waker=disk.jbd2, reason=reason)
    io = disk.flush(100, 200)
    synth.io(disk.jbd2, 99 * US, 300 * US, issued=205 * US, op=OP_WRITE | PREFLUSH | FUA)
    assert disk.cause_of(io) == expected


@pytest.mark.parametrize(
    ("above", "below", "stack", "on_loop", "expected"),
    [
        (99, 205, "worker_thread", False, {"backup": 1.0}),
        (150, 205, "worker_thread", False, None),  # it came above while the flush ran
        (99, 240, "worker_thread", False, None),  # something else has woken the worker meanwhile
        (99, 205, "blk_mq_get_tag", False, None),  # it had the data, and waited for a tag
        (99, 205, "worker_thread", True, None),  # a loop device's next command
    ],
)
def test_a_write_to_a_device_above_asked_for_the_flush_that_its_data_waited_for(
    above: int, below: int, stack: str, on_loop: bool, expected: dict[str, float] | None
) -> None:
    """Its end wakes the worker of device-mapper that passes the data on."""
    disk = Disk()
    mapper = disk.synth.task("kworker/0:15", kthread=True)
    disk.synth.preempt(mapper, 1, 2)
    io = disk.flush(100, 200)
    disk.synth.sleep(mapper, 50 * US, 200 * US, io=io, stack=[stack])
    disk.synth.preempt(mapper, 201 * US, 203 * US)
    disk.synth.sleep(mapper, 210 * US, 230 * US, stack=["worker_thread"])
    data = disk.synth.io(mapper, below * US, 300 * US, op=OP_WRITE)
    upper = disk.synth.io(disk.bg, above * US, 400 * US, dev=7 << 20) if on_loop else 0
    disk.synth.origin(data, disk.bg, above * US, parent=upper)
    assert disk.cause_of(io) == expected


def behind(*askers: str, own_kib: int = 0) -> dict[str, float]:
    """The writer comes at 1000 µs, waits for a flush until 1600, and for its own until 1800.

    The backup has written 1 MiB before. A flush of nothing takes 200 µs, one of 64 KiB 300. Return
    the blamed µs by kind.
    """
    disk = Disk()
    synth = disk.synth
    tasks = {"backup": disk.bg, "writer": synth.task("writer", target=True)}
    disk.flush(10, 210)
    synth.io(disk.fg, 300 * US, 310 * US, size=64 << 10)
    disk.flush(400, 700)
    synth.io(disk.bg, 800 * US, 900 * US, size=MIB)
    if own_kib:
        synth.io(disk.fg, 800 * US, 810 * US, size=own_kib << 10)
    first = disk.flush(950, 1600, *(tasks[comm] for comm in askers))
    synth.sleep(disk.worker, 945 * US, 1600 * US, io=first)
    own = disk.flush(1600, 1800)
    synth.request(disk.fg, 990 * US, 1810 * US)
    synth.sleep(disk.fg, 1000 * US, 1800 * US, io=own, stack=["submit_bio_wait"])
    return {row.kind: row.dur / US for row in found(synth)}


def test_a_flush_that_the_background_asked_for_is_its_own() -> None:
    assert behind("backup") == {"flush": 600}


def test_but_for_what_the_next_one_would_have_had_to_write() -> None:
    """With 64 KiB in the cache, it would have taken 300 µs instead of 200."""
    assert behind("backup", own_kib=64) == {"flush": 500}


def test_of_one_that_the_foreground_asked_for_only_the_excess_is_blamed() -> None:
    """650 µs for the backup's data instead of 200; of that the writer waits for the last 600."""
    (blamed,) = behind("backup", "writer").items()
    assert blamed == ("flush", 450)


def behind_a_record(*, since: int, dev: int = DEVICE) -> dict[str, float]:
    """As ``behind``, but what the writer waits for until 1600 µs is a record of the journal.

    It has FUA, so that the kernel begins no flush meanwhile, and asked for a flush itself. ``dev``:
    the device that the writer's own flush is for.
    """
    disk = Disk()
    synth = disk.synth
    disk.flush(10, 210)
    disk.flush(400, 500, disk.fg)
    disk.flush(900, 1000, disk.bg)
    record = synth.io(
        disk.bg, since * US, 1600 * US, issued=1010 * US, op=OP_WRITE | PREFLUSH | FUA, size=4096
    )
    synth.sleep(disk.worker, 1005 * US, 1600 * US, io=record, stack=["worker_thread"])
    own = synth.io(disk.worker, 1600 * US, 1650 * US, op=OP_FLUSH, size=0, dev=dev)
    synth.request(disk.fg, 990 * US, 1660 * US)
    synth.sleep(disk.fg, 1000 * US, 1650 * US, io=own, stack=["submit_bio_wait"])
    return {row.kind: row.dur / US for row in found(synth)}


def test_a_write_that_keeps_the_kernel_from_a_flush_is_blamed_but_for_a_longer_one() -> None:
    """The writer's flush takes 50 µs after the record, and 100 if it is asked for at once."""
    assert behind_a_record(since=890) == {"io_dependency": 550}


def test_a_flush_of_a_loop_device_says_nothing_of_the_cache_below_it() -> None:
    """It is an fsync of its file, which the record is a part of."""
    assert behind_a_record(since=890, dev=7 << 20) == {"io_dependency": 600}
