"""What a worker of a workqueue did before it was idle is no part of a wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

IDLE = ["schedule", "worker_thread", "kthread"]
AT_WORK = ["schedule", "io_schedule", "submit_bio_wait", "process_one_work", "worker_thread"]


class Workshop:
    """A worker runs from 20 to 30 and from 60 on; at 100 it wakes the writer, which came at 10."""

    def __init__(self) -> None:
        self.synth = synth = Synth([("background", "comm:backup")])
        self.fg, self.bg = synth.task("writer", target=True), synth.task("backup")
        self.worker = synth.task("kworker/0:1", kthread=True)
        synth.preempt(self.bg, 1, 2)  # it is watched
        synth.request(self.fg, 5, 105)
        synth.sleep(self.fg, 10, 100, waker=self.worker, stack=["mystery"])
        synth.sleep(self.worker, 1, 20, waker=self.bg, stack=IDLE)


START, END = (5, 5, "cpu", "writer"), (100, 5, "cpu", "writer")
WORK = (60, 40, "cpu", "kworker/0:1")
BEFORE = [(10, 10, "cpu", "backup"), (20, 10, "cpu", "kworker/0:1")]


def test_an_idle_worker_waits_for_the_io_that_brought_its_work(segments: Rows) -> None:
    """It came before the wait did, and was at the device from 12 on."""
    shop = Workshop()
    io = shop.synth.io(shop.bg, 4, 60, issued=12)
    shop.synth.sleep(shop.worker, 30, 60, io=io, stack=IDLE)
    waits = [(10, 2, "queue", "io 1"), (12, 48, "device", "io 1")]
    assert segments(shop.synth) == [START, *waits, WORK, END]


def test_before_that_io_it_is_its_submitters_time(segments: Rows) -> None:
    shop = Workshop()
    io = shop.synth.io(shop.bg, 40, 60)
    shop.synth.sleep(shop.worker, 30, 60, io=io, stack=IDLE)
    waits = [(10, 30, "cpu", "backup"), (40, 20, "device", "io 1")]
    assert segments(shop.synth) == [START, *waits, WORK, END]


def test_an_idle_worker_waits_for_the_task_that_brought_its_work(segments: Rows) -> None:
    shop = Workshop()
    other = shop.synth.task("other")
    shop.synth.preempt(other, 1, 2)
    shop.synth.sleep(shop.worker, 30, 60, waker=other, stack=IDLE)
    assert segments(shop.synth) == [START, (10, 50, "cpu", "other"), WORK, END]


def test_the_last_time_that_it_was_idle_counts(segments: Rows) -> None:
    shop = Workshop()
    other = shop.synth.task("other")
    shop.synth.preempt(other, 1, 2)
    shop.synth.sleep(shop.worker, 30, 60, waker=shop.bg, stack=IDLE)
    shop.synth.sleep(shop.worker, 70, 90, waker=other, stack=IDLE)
    work = (90, 10, "cpu", "kworker/0:1")
    assert segments(shop.synth) == [START, (10, 80, "cpu", "other"), work, END]


def test_an_io_of_its_own_brings_the_rest_of_the_same_work(segments: Rows) -> None:
    """It queued the io at 35; it was the backup that brought the work, at 20."""
    shop = Workshop()
    io = shop.synth.io(shop.worker, 35, 60)
    shop.synth.sleep(shop.worker, 40, 60, io=io, stack=IDLE)
    assert segments(shop.synth) == [
        *(START, (10, 10, "cpu", "backup"), (20, 20, "cpu", "kworker/0:1")),
        *((40, 20, "device", "io 1"), WORK, END),
    ]


def test_each_of_its_flushes_is_waited_for(segments: Rows) -> None:
    """It queues each one when the one before is over."""
    shop = Workshop()
    for begin, end in ((22, 30), (32, 60)):
        io = shop.synth.io(shop.worker, begin, end, op=2, size=0)
        shop.synth.sleep(shop.worker, begin + 1, end, io=io, stack=IDLE)
    path = segments(shop.synth)
    flushes = [segment for segment in path if segment[2] == "device"]
    assert flushes == [(23, 7, "device", "io 1"), (33, 27, "device", "io 2")]
    assert path[-2:] == [WORK, END]


def test_nobody_brought_what_a_timer_began(segments: Rows) -> None:
    """The backup has brought other work before."""
    shop = Workshop()
    shop.synth.sleep(shop.worker, 40, 45, waker=shop.bg, stack=IDLE)
    shop.synth.sleep(shop.worker, 60, 80, stack=IDLE)
    assert segments(shop.synth)[:4] == [
        *(START, (10, 10, "cpu", "backup"), (20, 20, "cpu", "kworker/0:1")),
        (40, 5, "cpu", "backup"),
    ]


@pytest.mark.parametrize(
    ("stack", "has_waker"), [(AT_WORK, True), (IDLE, False)], ids=["at work", "woken by nobody"]
)
def test_otherwise_its_time_is_its_own(segments: Rows, stack: list[str], has_waker: bool) -> None:
    """It may have slept for the work itself; and who queued what a timer began is not known."""
    shop = Workshop()
    io = shop.synth.io(shop.bg, 4, 60) if has_waker else 0
    shop.synth.sleep(shop.worker, 30, 60, io=io, stack=stack)
    path = segments(shop.synth)
    assert path[:3] == [START, *BEFORE]
    assert path[-2:] == [WORK, END]
