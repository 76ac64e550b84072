"""CPU time of kernel workers is that of the tasks they work for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import StackedLayer

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1000
ROLES = [("background", "comm:backup"), ("foreground", "comm:reader")]
N_TASKS = 3

pieces = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 40), st.integers(1, 9), st.integers(0, 2))
)


@given(pieces, st.integers(0, 2), st.integers(0, 50), st.integers(0, 50))
def test_work_is_counted_nanosecond_by_nanosecond(
    work: list[tuple[int, int, int, int]], worker: int, lo: int, length: int
) -> None:
    """Against a sheet of paper with a column for each nanosecond."""
    owner_at = np.full((N_TASKS, 60), -1)
    kept: list[tuple[int, int, int, int]] = []
    for thread, begin, dur, owner in sorted(work):
        if (owner_at[thread, begin : begin + dur] < 0).all():
            owner_at[thread, begin : begin + dur] = owner
            kept.append((thread, begin, begin + dur, owner))
    columns = np.array(kept, np.int64).reshape(-1, 4).T
    table = WorkedFor(
        np.arange(N_TASKS),
        columns[0],
        columns[1],
        columns[2],
        columns[3].astype(np.int32),
        np.ones(len(kept)),
    )
    chosen = np.array([True, False, True])
    hi = min(lo + length, 59)
    lo = min(lo, hi)
    worked, who = table.time(np.array([worker], np.int32), np.array([lo]), np.array([hi]), chosen)
    found = owner_at[worker, lo:hi]
    expected = found[(found == 0) | (found == 2)]
    assert worked[0] == len(expected)
    assert who[0] == (expected[-1] if len(expected) else -1)


@pytest.mark.parametrize("guilty", [True, False])
def test_a_kcryptd_that_has_the_cpu_for_a_backup_delays_who_waits_for_it(
    inversions: Rows, guilty: bool
) -> None:
    synth = Synth(ROLES)
    reader = synth.task("reader", target=True)
    other = synth.task("backup" if guilty else "reader", tid=50)
    worker = synth.task("kworker/u4:1-kcryptd", kthread=True)
    synth.request(reader, 100 * US, 500 * US)
    synth.sleep(worker, 50 * US, 90 * US)
    synth.sleep(other, 1, 2)
    for at in range(110, 390, 20):
        synth.served(0, worker, at * US, (at + 20) * US, owner=other, layer=StackedLayer.CRYPT)
    # Work that took less than the clock's step, in the middle of another piece.
    synth.served(0, worker, 115 * US, 115 * US, owner=other, layer=StackedLayer.CRYPT)
    synth.preempt(reader, 110 * US, 400 * US, ran=worker)
    synth.sleep(worker, 400 * US, 600 * US)
    found = [(kind, culprit, dur) for kind, culprit, dur, *_ in inversions(synth)]
    assert found == ([("cpu", "backup", 280 * US)] if guilty else [])


@pytest.mark.parametrize("guilty", [True, False])
def test_a_loop_devices_worker_that_works_for_a_backup_delays_the_next(
    inversions: Rows, guilty: bool
) -> None:
    """Its worker is busy with the backup's command when the reader's is issued."""
    synth = Synth(ROLES)
    reader = synth.task("reader", target=True)
    other = synth.task("backup" if guilty else "reader", tid=50)
    worker = synth.task("kworker/u4:1", kthread=True)
    synth.sleep(worker, 50 * US, 90 * US)
    synth.sleep(other, 1, 2)
    synth.request(reader, 100 * US, 500 * US)
    first = synth.io(other, 80 * US, 300 * US, dev=7 << 20, op=1)
    second = synth.io(reader, 110 * US, 395 * US, dev=7 << 20, op=0)
    synth.served(first, worker, 95 * US, 300 * US, owner=other)
    synth.served(second, worker, 300 * US, 390 * US, owner=reader)
    synth.sleep(reader, 112 * US, 395 * US, io=second)
    found = [(kind, culprit, dur) for kind, culprit, dur, *_ in inversions(synth)]
    assert found == ([("condition", "backup", 188 * US)] if guilty else [])


def test_a_loop_device_is_flushed_for_those_whose_pages_that_writes(inversions: Rows) -> None:
    """The reader asked for it; the worker prepares an io of the backup's pages until 300."""
    synth = Synth(ROLES)
    reader, other = synth.task("reader", target=True), synth.task("backup", tid=50)
    worker = synth.task("kworker/u4:1", kthread=True)
    synth.sleep(worker, 50 * US, 110 * US)
    synth.sleep(other, 1, 2)
    synth.request(reader, 100 * US, 500 * US)
    flush = synth.io(reader, 110 * US, 395 * US, dev=7 << 20, op=2)
    synth.served(flush, worker, 110 * US, 390 * US, owner=reader)
    synth.cause(synth.io(worker, 300 * US, 380 * US), other)
    synth.sleep(worker, 300 * US, 389 * US, waker=0, interrupt=True)
    synth.sleep(reader, 112 * US, 395 * US, io=flush)
    found = [(kind, culprit, dur) for kind, culprit, dur, *_ in inversions(synth)]
    assert found == [("condition", "backup", 188 * US)]


@pytest.mark.parametrize("guilty", [True, False])
@pytest.mark.parametrize("how", ["dispatcher", "queuer", "above", "below"])
def test_a_kernel_thread_has_the_cpu_for_those_whose_ios_it_queues_or_dispatches(
    inversions: Rows, guilty: bool, how: str
) -> None:
    """A kblockd worker hands over ios of another one, a flusher queues ios with another one's data.

    On a device of dm-crypt, it queues them above, and the device's own thread below.

    The last io is the reader's: the time since the one before is for itself, or, if it is handed
    over, the time until the worker sleeps.
    """
    synth = Synth(ROLES)
    reader = synth.task("reader", target=True)
    other = synth.task("backup" if guilty else "reader", tid=50)
    worker = synth.task("kworker/0:1H" if how == "dispatcher" else "kworker/u4:1", kthread=True)
    mapper = synth.task("dmcrypt_write/2", kthread=True)
    flusher = synth.task("kworker/u4:9", kthread=True)
    synth.request(reader, 100 * US, 500 * US)
    synth.sleep(worker, 50 * US, 90 * US)
    synth.sleep(other, 1, 2)
    last = 370 if how == "dispatcher" else 390
    for number, at in enumerate(range(130, 430, 20)):
        owner = reader if at == last else other
        if how == "dispatcher":
            synth.io(owner, 60 * US + number, 600 * US, inserted=100 * US, issued=at * US)
        elif how == "above":
            io = synth.io(mapper, (at + 200) * US, 600 * US)
            synth.origin(io, worker, at * US)
            synth.cause(io, owner)
        else:
            io = synth.io(worker, at * US, 600 * US)
            synth.cause(io, owner)
            if how == "below":
                synth.origin(io, flusher, 60 * US + number)
    synth.preempt(reader, 110 * US, 390 * US, ran=worker)
    synth.sleep(worker, 390 * US, 600 * US)
    found = [(kind, culprit, dur) for kind, culprit, dur, *_ in inversions(synth)]
    assert found == ([("cpu", "backup", 260 * US)] if guilty else [])


def test_of_an_io_with_data_of_two_each_has_its_part_of_the_work(inversions: Rows) -> None:
    """Three quarters of the pages are the backup's; the flusher runs for 80 us."""
    synth = Synth(ROLES)
    reader, other = synth.task("reader", target=True), synth.task("backup", tid=50)
    flusher = synth.task("kworker/u4:1", kthread=True)
    synth.request(reader, 100 * US, 300 * US)
    synth.sleep(flusher, 50 * US, 110 * US)
    synth.sleep(other, 1, 2)
    io = synth.io(flusher, 190 * US, 600 * US)
    synth.cause(io, other, n_pages=3, n_causes=2)
    synth.cause(io, reader, n_pages=1, n_causes=2)
    synth.preempt(reader, 110 * US, 190 * US, ran=flusher)
    synth.sleep(flusher, 190 * US, 600 * US)
    assert [row[:3] for row in inversions(synth)] == [("cpu", "backup", 60 * US)]


class Kblockd:
    """The reader waits for the CPU in [110, 300) us, behind workers of the block layer."""

    def __init__(self) -> None:
        self.synth = Synth(ROLES)
        self.reader = self.synth.task("reader", target=True)
        self.backup = self.synth.task("backup", tid=50)
        self.worker = self.synth.task("kworker/0:1H", kthread=True)
        self.synth.request(self.reader, 100 * US, 400 * US)
        self.synth.sleep(self.backup, 1, 2)
        self.synth.preempt(self.reader, 110 * US, 300 * US, ran=self.worker)

    def queued(self, task: int, got: int, issued: int) -> None:
        """An io that waits in the scheduler until somebody issues it; times in us."""
        begin = got * US
        self.synth.io(task, begin - 1, 500 * US, got=begin, inserted=begin + 1, issued=issued * US)

    def blamed(self) -> list[int]:
        return [row.dur // US for row in found(self.synth) if row.kind == "cpu"]


def test_a_driver_works_for_whose_io_was_issued_until_the_worker_sleeps() -> None:
    """It copies what a flush writes out, and goes on with that when it was preempted."""
    disk = Kblockd()
    synth, other = disk.synth, disk.synth.task("reader", tid=60)
    synth.sleep(disk.worker, 50 * US, 108 * US, run=110 * US)
    disk.queued(disk.backup, 90, 120)
    synth.preempt(disk.worker, 200 * US, 230 * US, ran=other)
    synth.sleep(other, 60 * US, 190 * US, run=200 * US, ran=disk.worker)
    # Another one issues an io of its own meanwhile, and changes nothing.
    synth.io(other, 205 * US, 600 * US, issued=210 * US)
    synth.sleep(disk.worker, 300 * US, 600 * US)
    assert disk.blamed() == [160]


@pytest.mark.parametrize(
    ("run", "sleeps", "expected"),
    [
        (302, 310, [134]),
        (114, 118, []),  # either may have issued the backup's io
        (240, 260, [134]),  # or the reader's: the backup's is over
        (230, 232, [134]),
    ],
)
def test_while_two_workers_have_cpus_it_is_not_known_who_issued(
    run: int, sleeps: int, expected: list[int]
) -> None:
    """The reader waits for the CPU of the first one, which issues the backup's io at 116."""
    disk = Kblockd()
    second = disk.synth.task("kworker/1:1H", kthread=True)
    disk.synth.sleep(disk.worker, 50 * US, 108 * US, run=110 * US)
    disk.synth.sleep(second, 50 * US, (run - 1) * US, run=run * US, cpu=1)
    disk.queued(disk.reader, 90, 113)
    disk.queued(disk.backup, 90, 116)
    disk.queued(disk.reader, 90, 250)
    disk.synth.sleep(second, sleeps * US, 600 * US, cpu=1)
    disk.synth.sleep(disk.worker, 300 * US, 600 * US)
    assert disk.blamed() == expected


def test_what_was_never_queued_is_issued_by_its_own_task() -> None:
    """The worker hands the reader's io over; the backup issues one on another CPU."""
    disk = Kblockd()
    disk.synth.sleep(disk.worker, 50 * US, 108 * US, run=110 * US)
    disk.queued(disk.reader, 90, 111)
    disk.synth.io(disk.backup, 114 * US, 500 * US, issued=115 * US)
    disk.synth.sleep(disk.worker, 300 * US, 600 * US)
    assert disk.blamed() == []


@pytest.mark.parametrize(
    ("ios", "expected"),
    [
        ([(80, 105)], [190]),
        ([(102, 105)], []),  # it came when the worker had been woken
        ([(80, 90)], []),
        ([(80, 104), (80, 105)], []),  # one of two, it is not known which
    ],
)
def test_a_worker_that_comes_too_late_was_woken_for_what_another_one_issued(
    ios: list[tuple[int, int]], expected: list[int]
) -> None:
    disk = Kblockd()
    disk.synth.sleep(disk.worker, 50 * US, 100 * US, run=110 * US)
    for got, issued in ios:
        disk.queued(disk.backup, got, issued)
    disk.synth.sleep(disk.worker, 300 * US, 600 * US)
    assert disk.blamed() == expected
