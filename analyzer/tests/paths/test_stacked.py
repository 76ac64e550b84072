"""Paths through loop devices, worked out by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import StackedLayer

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows

LOOP = 7 << 20
DM = 254 << 20
CRYPT = StackedLayer.CRYPT
PREFLUSH = 1 << 18


class Stage:
    """A read of a loop device from 110 to 190; its worker is watched."""

    def __init__(self, *, by_worker: bool = False) -> None:
        """By default an interrupt ends the read; else a second worker, which is watched too."""
        self.synth = Synth()
        self.reader = self.synth.task("reader", target=True)
        self.worker = self.synth.task("kworker", kthread=True)
        self.ender = self.synth.task("ender", kthread=True)
        self.synth.request(self.reader, 100, 200)
        self.above = self.synth.io(self.reader, 110, 188, issued=115, dev=LOOP, op=0)
        waker = self.ender if by_worker else 0
        self.synth.sleep(self.reader, 110, 190, io=self.above, waker=waker)


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


def test_who_ends_an_io_of_a_loop_device_wants_a_cpu_for_it(segments: Rows) -> None:
    """A direct write: a worker of its own ends it, 29 after the io below, behind another task."""
    stage = Stage(by_worker=True)
    stage.synth.sleep(stage.worker, 50, 114, 115, interrupt=True)
    stage.synth.served(stage.above, stage.worker, 116, 122, dev=LOOP)
    below = stage.synth.io(stage.worker, 120, 150, issued=121, op=0)
    stage.synth.origin(below, stage.reader, 110, parent=stage.above, dev=LOOP)
    stage.synth.sleep(stage.ender, 90, 151, 180, io=below, ran=stage.worker)
    assert segments(stage.synth) == [
        (100, 10, "cpu", "reader"),
        (110, 5, "queue", "io 1"),
        (115, 5, "cpu", "kworker"),
        (120, 1, "queue", "io 2"),
        (121, 29, "device", "io 2"),
        (150, 1, "device", "io 2"),
        (151, 29, "runqueue", "ender"),
        (180, 10, "cpu", "ender"),
        (190, 10, "cpu", "reader"),
    ]


def test_what_asks_a_loop_device_for_a_flush_waits_for_its_worker(segments: Rows) -> None:
    """The worker syncs the file until 160 for a flush that was queued at 112."""
    synth = Synth()
    writer, worker = synth.task("writer", target=True), synth.task("kworker", kthread=True)
    dispatcher = synth.task("dispatcher", kthread=True)
    synth.request(writer, 100, 200)
    record = synth.io(writer, 110, 188, got=111, issued=165, dev=LOOP, op=1 | PREFLUSH)
    earlier = synth.io(dispatcher, 60, 90, dev=LOOP, op=2)
    flush = synth.io(dispatcher, 112, 162, issued=113, dev=LOOP, op=2)
    synth.sleep(writer, 111, 190, io=record)
    synth.served(earlier, worker, 61, 89, dev=LOOP)
    synth.sleep(worker, 89, 114, 115)
    synth.served(flush, worker, 115, 160, dev=LOOP)
    synced = synth.io(worker, 120, 150)
    synth.sleep(worker, 121, 151, io=synced)
    synth.sleep(worker, 160, 166, 167)
    synth.served(record, worker, 168, 186, dev=LOOP)
    assert segments(synth)[1:10] == [
        (111, 1, "queue", "io 1"),
        (112, 1, "queue", "io 3"),
        (113, 1, "unknown", "kworker"),
        (114, 1, "runqueue", "kworker"),
        (115, 6, "cpu", "kworker"),
        (121, 30, "device", "io 4"),
        (151, 9, "cpu", "kworker"),
        (160, 2, "device", "io 3"),
        (162, 3, "queue", "io 1"),
    ]


class Reading:
    """A read of dm-crypt from 110, whose io below is at the disk from 115 to 150."""

    def __init__(self, woken: int) -> None:
        self.synth = Synth()
        self.reader = self.synth.task("reader", target=True)
        self.other = self.synth.task("other")
        self.worker = self.synth.task("kworker", kthread=True)
        self.synth.request(self.reader, 100, woken + 10)
        self.below = self.synth.io(self.reader, 112, 150, issued=115, op=0)
        self.synth.origin(self.below, self.reader, 110, dev=DM)
        self.synth.sleep(self.reader, 114, woken, waker=self.worker)

    def decrypted(self, begin: int, end: int) -> None:
        self.synth.served(
            self.below, self.worker, begin, end, owner=self.reader, layer=CRYPT, dev=DM
        )


def test_a_read_of_dm_crypt_waits_for_the_worker_only_since_its_io_has_ended(
    segments: Rows,
) -> None:
    """The worker decrypts for somebody else until 180: from 150 on that is in the way."""
    stage = Reading(woken=195)
    stage.synth.sleep(stage.worker, 40, 90)
    stage.synth.served(0, stage.worker, 95, 180, owner=stage.other, layer=CRYPT, dev=DM)
    stage.decrypted(180, 196)
    assert segments(stage.synth) == [
        (100, 14, "cpu", "reader"),
        (114, 1, "queue", "io 1"),
        (115, 35, "device", "io 1"),
        (150, 45, "cpu", "kworker"),
        (195, 10, "cpu", "reader"),
    ]


def test_an_idle_worker_decrypts_when_the_io_has_ended(segments: Rows) -> None:
    stage = Reading(woken=165)
    stage.synth.sleep(stage.worker, 90, 151, 153, interrupt=True)
    stage.decrypted(155, 166)
    assert segments(stage.synth) == [
        (100, 14, "cpu", "reader"),
        (114, 1, "queue", "io 1"),
        (115, 35, "device", "io 1"),
        (150, 1, "unknown", "kworker"),
        (151, 2, "runqueue", "kworker"),
        (153, 12, "cpu", "kworker"),
        (165, 10, "cpu", "reader"),
    ]


def test_a_worker_that_wakes_somebody_after_its_piece_is_followed(segments: Rows) -> None:
    stage = Reading(woken=195)
    stage.decrypted(155, 190)
    stage.synth.sleep(stage.worker, 40, 90)
    assert segments(stage.synth) == [
        (100, 14, "cpu", "reader"),
        (114, 81, "cpu", "kworker"),
        (195, 10, "cpu", "reader"),
    ]
