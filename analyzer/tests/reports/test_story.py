"""Long paths are told in few lines, and nothing is lost in folding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.reports.story import request_story
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import IoFlag, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load


def many_reads() -> Synth:
    synth = Synth()
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    synth.request(fg, 0 + 1000, 1000 + 100 * 40)
    for at in range(40):
        ts = 1000 + at * 100
        io = synth.io(bg, ts + 5, ts + 60 + at)
        synth.sleep(fg, ts + 10, ts + 60 + at, io=io, stack=["io_schedule"])
    return synth


def test_runs_of_similar_siblings_are_folded(load: Load) -> None:
    store = load(many_reads())
    rows = request_story(store, 1)
    assert len(rows) < 20
    assert sum(line.dur_ns for line in rows if line.depth == 0) == 4000
    assert any("waits for ios by checkpointer (device)" in line.text for line in rows)


def test_everything_is_told_when_asked(load: Load) -> None:
    rows = request_story(load(many_reads()), 1, limit=None)
    assert sum("its write of 4 KiB on nvme0n1 is at the device" in line.text for line in rows) == 40
    assert [line.offset_ns for line in rows] == sorted(line.offset_ns for line in rows)


def texts(load: Load, synth: Synth) -> list[str]:
    return [line.text for line in request_story(load(synth), 1, limit=None)]


def test_a_wait_for_a_page_names_the_file_and_whose_it_is(load: Load) -> None:
    synth = Synth()
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    flusher = synth.task("kworker/u4:1", kthread=True)
    synth.file(7, "16384", "base")
    io = synth.io(flusher, 1005, 1090, ino=7)
    synth.cause(io, bg, ino=7, n_pages=3, n_causes=2)
    synth.cause(io, fg, ino=7, n_causes=2)
    synth.request(fg, 1000, 1100)
    synth.sleep(fg, 1010, 1090, io=io, ino=7, dev=DEVICE, reason=WaitReason.PAGE_WRITEBACK)
    assert texts(load, synth)[1:3] == [
        "writer waits: page_writeback of base/16384 (75 % caused by checkpointer), for an io by "
        "kworker/u4:1 (kernel)",
        "its write of 4 KiB to base/16384 on nvme0n1 is at the device",
    ]


def test_pages_of_a_device_are_called_by_its_name(load: Load) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.device_pages(0x10300000)
    io = synth.io(fg, 1005, 1090, ino=0x10300000, op=0)
    synth.request(fg, 1000, 1100)
    reason = WaitReason.BUFFER_LOCK
    synth.sleep(fg, 1010, 1090, io=io, ino=0x10300000, dev=DEVICE, reason=reason)
    assert texts(load, synth)[1:3] == [
        "writer waits: buffer_lock of /dev/nvme0n1, for an io by writer (foreground)",
        "its read of 4 KiB from /dev/nvme0n1 on nvme0n1 is at the device",
    ]


def test_a_wait_for_the_cpu_names_who_ran(load: Load) -> None:
    synth = Synth()
    fg, bg = synth.task("writer", target=True), synth.task("rsync")
    synth.request(fg, 1000, 1100)
    synth.preempt(fg, 1010, 1090, ran=bg)
    assert "writer runnable, rsync ran instead (runqueue)" in texts(load, synth)


def test_a_wait_for_the_next_period_of_a_cpu_limit_names_nobody_who_ran(load: Load) -> None:
    synth = Synth()
    fg, bg = synth.task("writer", target=True), synth.task("rsync")
    synth.request(fg, 1000, 1100)
    synth.preempt(fg, 1010, 1090, ran=bg, cpu_max=True)
    assert "writer runnable, its cgroup has used up its cpu.max (cpu_max)" in texts(load, synth)


def test_a_throttled_writer_is_told_its_numbers(load: Load) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 1000, 20_000_000)
    synth.throttle(fg, 1005, pause_ms=10, limit=1000, dirty=920)
    synth.sleep(fg, 1010, 10_001_010, reason=WaitReason.DIRTY_THROTTLE)
    assert any(
        text.startswith(
            "writer waits: dirty_throttle: dirty 920 of 1000 pages allowed, paused 10 ms, until"
        )
        for text in texts(load, synth)
    )


def test_an_io_that_io_max_holds_back_names_the_policy(load: Load) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 1000, 1100)
    io = synth.io(fg, 1005, 1090, got=1050, flags=IoFlag.THROTTLED)
    synth.sleep(fg, 1010, 1090, io=io, stack=["io_schedule"])
    line = "its write of 4 KiB on nvme0n1 is throttled by blk-throttle (admission_slot)"
    assert line in texts(load, synth)


@pytest.mark.parametrize(
    ("frame", "policy"),
    [
        ("wbt_wait", "wbt"),
        ("__wbt_wait", "wbt"),
        ("ioc_rqos_throttle", "iocost"),
        ("blkcg_iolatency_throttle", "iolatency"),
        ("blkcg_maybe_throttle_current", "blkcg"),
        ("throtl_pd_offline", "blk-throttle"),
        ("rcp_slots_throttle", "rcp"),
    ],
)
def test_a_policy_that_holds_ios_back_is_named(load: Load, frame: str, policy: str) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 1000, 1100)
    synth.sleep(fg, 1010, 1090, stack=["io_schedule", "rq_qos_wait", frame, "__rq_qos_throttle"])
    assert f"writer waits: admission_slot by {policy}, until woken by an interrupt" in texts(
        load, synth
    )
