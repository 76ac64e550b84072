"""Paths through loop devices, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcp.fixtures.synth import DEVICE, Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows

LOOP = 7 << 20


class Stage:
    """A read of a loop device from 110 to 190; its worker is watched."""

    def __init__(self) -> None:
        self.synth = Synth()
        self.reader = self.synth.task("reader", target=True)
        self.worker = self.synth.task("kworker", kthread=True)
        self.synth.request(self.reader, 100, 200)
        self.above = self.synth.io(self.reader, 110, 188, issued=115, dev=LOOP, op=0)
        self.synth.sleep(self.reader, 110, 190, io=self.above)


def test_an_io_that_ended_a_loop_devices_io_is_followed(segments: Rows) -> None:
    """O_DIRECT: the worker queues the io below and does not wait for it."""
    stage = Stage()
    stage.synth.sleep(stage.worker, 50, 120, 125, interrupt=True)
    stage.synth.served(stage.above, stage.worker, 125, 145, dev=LOOP)
    below = stage.synth.io(stage.worker, 140, 185, issued=142, op=0)
    stage.synth.origin(below, stage.reader, 110, parent=stage.above, dev=LOOP)
    assert segments(stage.synth) == [
        (100, 10, "cpu", "reader"),
        (110, 5, "queue", "io 1"),
        (115, 5, "unknown", "kworker"),
        (120, 5, "runqueue", "kworker"),
        (125, 15, "cpu", "kworker"),
        (140, 2, "queue", "io 2"),
        (142, 43, "device", "io 2"),
        (185, 5, "device", "io 1"),
        (190, 10, "cpu", "reader"),
    ]


def test_a_worker_that_waits_itself_is_followed_to_its_end(segments: Rows) -> None:
    """Through the page cache: the worker sleeps until the io below has ended."""
    stage = Stage()
    stage.synth.served(stage.above, stage.worker, 120, 180, dev=LOOP)
    below = stage.synth.io(stage.worker, 130, 170, op=0)
    stage.synth.sleep(stage.worker, 132, 171, 172, io=below)
    stage.synth.origin(below, stage.reader, 110, parent=stage.above, dev=LOOP)
    assert segments(stage.synth) == [
        (100, 10, "cpu", "reader"),
        (110, 5, "queue", "io 1"),
        (115, 17, "cpu", "kworker"),
        (132, 39, "device", "io 2"),
        (171, 1, "runqueue", "kworker"),
        (172, 8, "cpu", "kworker"),
        (180, 10, "device", "io 1"),
        (190, 10, "cpu", "reader"),
    ]


def test_a_loop_device_on_a_loop_device_is_followed_twice(segments: Rows) -> None:
    stage = Stage()
    stage.synth.served(stage.above, stage.worker, 118, 125, dev=LOOP)
    second = stage.synth.task("kworker-2", kthread=True)
    stage.synth.sleep(stage.worker, 1, 2)
    stage.synth.sleep(second, 1, 2)
    middle = stage.synth.io(stage.worker, 120, 180, dev=LOOP + 1, op=0)
    below = stage.synth.io(second, 140, 170, op=0)
    stage.synth.origin(middle, stage.reader, 110, parent=stage.above, dev=LOOP)
    stage.synth.served(middle, second, 130, 145, dev=LOOP + 1)
    stage.synth.origin(below, stage.reader, 110, parent=middle, dev=LOOP)
    assert segments(stage.synth) == [
        (100, 10, "cpu", "reader"),
        (110, 5, "queue", "io 1"),
        (115, 5, "cpu", "kworker"),
        (120, 20, "cpu", "kworker-2"),
        (140, 30, "device", "io 3"),
        (170, 10, "device", "io 2"),
        (180, 10, "device", "io 1"),
        (190, 10, "cpu", "reader"),
    ]


def test_an_io_below_that_ended_later_was_not_waited_for(segments: Rows) -> None:
    """Read ahead: the worker queued it, but had what it needed."""
    stage = Stage()
    stage.synth.sleep(stage.worker, 1, 2)
    stage.synth.served(stage.above, stage.worker, 115, 180, dev=LOOP)
    ahead = stage.synth.io(stage.worker, 130, 250, op=0)
    stage.synth.origin(ahead, stage.reader, 110, parent=stage.above, dev=LOOP)
    assert segments(stage.synth)[2:4] == [
        (115, 65, "cpu", "kworker"),
        (180, 10, "device", "io 1"),
    ]


def test_ios_below_have_the_files_of_those_above(ask: Ask) -> None:
    """Below dm: the inode's own file system; below loop: that of the io it is part of."""
    synth = Synth(devices={str(LOOP): "loop0", str(DEVICE): "nvme0n1"})
    task = synth.task("writer")
    synth.file(14, "data", dev=LOOP)
    synth.file(14, "other", dev=DEVICE)
    above = synth.io(task, 10, 50, dev=LOOP, ino=14)
    synth.origin(synth.io(task, 20, 40), task, 10, parent=above, dev=LOOP)
    synth.origin(synth.io(task, 20, 40, ino=14), task, 10, file_dev=LOOP, dev=LOOP)
    synth.io(task, 20, 40, ino=14)
    paths = ask(synth, "SELECT path FROM io_file ORDER BY io_id")
    assert paths == [("data",), ("data",), ("data",), ("other",)]


def test_stacked_devices_are_called_by_their_own_names(ask: Ask) -> None:
    synth = Synth(
        devices={str(LOOP): "loop0", "1": "dm-0", "2": "sda", "3": "sda1"},
        device_labels={str(LOOP): "disk.img", "1": "vg-root"},
    )
    rows = ask(synth, "SELECT name, disk_dev FROM device ORDER BY dev")
    assert rows == [("vg-root (dm-0)", None), ("sda", 2), ("sda1", 2), ("disk.img (loop0)", LOOP)]
