"""One recording for each kind of inversion, and one that looks like it but is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.blame.candidates import KINDS
from rcp.analyzer.tests.blame.stage import US, Stage
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import IoFlag, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

KIB = 1024
HELD = IoFlag.THROTTLED


@pytest.mark.parametrize("guilty", [True, False])
def test_io_dependency_on_data_a_flusher_writes(inversions: Rows, guilty: bool) -> None:
    stage = Stage()
    io = stage.synth.io(stage.flusher, 110 * US, 180 * US)
    stage.synth.cause(io, stage.bg if guilty else stage.client)
    stage.synth.sleep(stage.fg, 120 * US, 180 * US, io=io, stack=["folio_wait_writeback"])
    chain = "fsync → page_writeback → io by kworker/u8:1 for backup"
    expected = [("io_dependency", "backup", 60 * US, chain, 1.0)]
    assert inversions(stage.synth) == (expected if guilty else [])


def test_of_an_io_with_mixed_data_the_backgrounds_share_counts(
    inversions: Rows,
) -> None:
    stage = Stage()
    io = stage.synth.io(stage.flusher, 110 * US, 180 * US)
    stage.synth.cause(io, stage.bg, n_pages=1)
    stage.synth.cause(io, stage.fg, n_pages=3)
    stage.synth.sleep(stage.fg, 120 * US, 180 * US, io=io, stack=["folio_wait_writeback"])
    assert [row[:3] + row[4:] for row in inversions(stage.synth)] == [
        ("io_dependency", "backup", 15 * US, 1.0)
    ]


def commit(stage: Stage, own: int, others: int) -> Synth:
    """The fsync waits for a commit: 20 µs of CPU, 50 µs of log, 10 µs of CPU."""
    synth = stage.synth
    synth.handle(stage.fg, 50 * US, 51 * US, blocks=own)
    if others:
        synth.handle(stage.bg, 60 * US, 61 * US, blocks=others)
    synth.commit(stage.jbd2, 105 * US, 190 * US)
    synth.sleep(stage.fg, 110 * US, 190 * US, waker=stage.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    ios = [
        synth.io(stage.jbd2, 130 * US, 155 * US, size=128 * KIB),
        synth.io(stage.jbd2, 130 * US, 180 * US, issued=155 * US, size=128 * KIB),
    ]
    synth.sleep(stage.jbd2, 130 * US, 155 * US, io=ios[0], stack=["__wait_on_buffer"])
    synth.sleep(stage.jbd2, 155 * US, 180 * US, io=ios[1], stack=["__wait_on_buffer"])
    return synth


def test_condition_and_log_of_a_commit_mostly_of_background(inversions: Rows) -> None:
    """The rest would have been in the first io; CPU time is that of 65.5 blocks, 40 of backup."""
    chain = "fsync → journal_commit (jbd2/sda-8)"
    log = f"{chain} → buffer_lock → io by jbd2/sda-8 for backup"
    assert inversions(commit(Stage(), own=20, others=40)) == [
        ("io_dependency", "backup", 25 * US, log, 1.0),
        ("condition", "backup", round(30 * US * 40 / 65.5), f"{chain} for backup", 1.0),
    ]


@pytest.mark.parametrize("others", [0, 1, 2])
def test_commit_mostly_of_the_requests_own_work_is_no_inversion(
    inversions: Rows, others: int
) -> None:
    assert inversions(commit(Stage(), own=60, others=others)) == []


def test_condition_by_a_flusher_busy_with_backgrounds_pages(inversions: Rows) -> None:
    """It works 40 µs before it queues backup's io: probably for it."""
    stage = Stage()
    stage.synth.sleep(
        stage.fg, 120 * US, 160 * US, waker=stage.flusher, reason=WaitReason.JOURNAL_HANDLE
    )
    stage.synth.cause(stage.synth.io(stage.flusher, 165 * US, 180 * US), stage.bg)
    chain = "fsync → journal_handle (kworker/u8:1) for backup"
    assert inversions(stage.synth) == [("condition", "backup", 40 * US, chain, 0.75)]


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        (["io_schedule", "blk_mq_get_tag"], "admission_tag"),
        (["io_schedule", "rq_qos_wait", "wbt_wait"], "admission_slot"),
    ],
)
@pytest.mark.parametrize(("others", "share"), [(0, 1.0), (1, 1.0), (4, 3 / 7), (60, None)])
def test_admission(
    inversions: Rows, stack: list[str], kind: str, others: int, share: float | None
) -> None:
    """Three places are the backup's, ``others`` the client's; a client's io makes place.

    With most of the places free nobody would have waited, so then all of the wait is the backup's.
    """
    stage = Stage()
    synth = stage.synth
    ios = [synth.io(stage.bg, 10 * US, 300 * US) for _ in range(3)]
    for _ in range(others):
        ios.append(synth.io(stage.client, 10 * US, 160 * US))
    synth.io(stage.fg, 115 * US, 250 * US, got=161 * US)
    synth.sleep(stage.fg, 120 * US, 160 * US, io=ios[-1], stack=stack)
    chain = f"fsync → {kind} behind backup"
    expected = [] if share is None else [(kind, "backup", round(40 * US * share), chain, 1.0)]
    assert inversions(synth) == expected


def test_the_past_of_who_makes_place_is_not_in_the_way(inversions: Rows) -> None:
    """The io that makes place was queued at 130, by a backup that had waited for its own."""
    stage = Stage()
    synth = stage.synth
    synth.sleep(stage.bg, 90 * US, 125 * US, io=synth.io(stage.bg, 5 * US, 125 * US))
    io = synth.io(stage.bg, 130 * US, 160 * US)
    synth.io(stage.fg, 115 * US, 250 * US, got=161 * US)
    synth.sleep(stage.fg, 120 * US, 160 * US, io=io, stack=["io_schedule", "blk_mq_get_tag"])
    assert [row[:3] for row in inversions(synth)] == [("admission_tag", "backup", 40 * US)]


def test_admission_ended_by_a_timer(inversions: Rows, segments: Rows) -> None:
    """io.cost lets the waiter go by a timer: no io says which device it is."""
    stage = Stage()
    stage.synth.io(stage.bg, 10 * US, 300 * US)
    stage.synth.io(stage.fg, 115 * US, 250 * US, got=161 * US)
    stage.synth.sleep(
        stage.fg, 120 * US, 160 * US, interrupt=True, stack=["io_schedule", "rq_qos_wait"]
    )
    chain = "fsync → admission_slot behind backup"
    assert inversions(stage.synth) == [("admission_slot", "backup", 40 * US, chain, 1.0)]
    assert (120 * US, 40 * US, "admission_slot", "writer") in segments(stage.synth)


@pytest.mark.parametrize("kind", ["admission_tag", "admission_slot"])
def test_submitters_admission_is_a_stage_of_the_io_waited_for(inversions: Rows, kind: str) -> None:
    """The client queued the io at 110 and slept until it got a request at 150."""
    stage = Stage()
    synth = stage.synth
    synth.io(stage.bg, 10 * US, 150 * US)
    io = synth.io(stage.client, 110 * US, 180 * US, got=150 * US)
    frame = {"admission_tag": "blk_mq_get_tag", "admission_slot": "rq_qos_wait"}[kind]
    synth.sleep(stage.client, 112 * US, 149 * US, interrupt=True, stack=[frame])
    synth.sleep(stage.fg, 120 * US, 180 * US, io=io, stack=["folio_wait_writeback"])
    chain = f"fsync → page_writeback → io by client → {kind} behind backup"
    assert inversions(synth) == [(kind, "backup", 30 * US, chain, 1.0)]


@pytest.mark.parametrize(("cgroup", "guilty"), [(7, True), (8, False)])
def test_io_max_holds_back_an_io_for_those_who_use_up_the_limit(
    inversions: Rows, segments: Rows, cgroup: int, guilty: bool
) -> None:
    """The writer's io is held for 60 µs, while two of the backup's are let in; nobody sleeps for
    a place, and who is in another cgroup has another limit."""
    stage = Stage()
    synth = stage.synth
    for got in (120, 150):
        synth.io(stage.bg, 10 * US, (got + 5) * US, got=got * US, cgroup_id=cgroup, flags=HELD)
    io = synth.io(stage.fg, 110 * US, 180 * US, got=170 * US, cgroup_id=7, flags=HELD)
    synth.sleep(stage.fg, 115 * US, 180 * US, io=io, stack=["io_schedule"])
    chain = "fsync → device → io by writer → admission_slot behind backup"
    expected = [("admission_slot", "backup", 55 * US, chain, 1.0)]
    assert inversions(synth) == (expected if guilty else [])
    assert (115 * US, 55 * US, "admission_slot", f"io {io}") in segments(synth)


@pytest.mark.parametrize(
    ("pages", "found"), [(300, [("backup", 30 * US, 0.5)]), (50, [])], ids=["others", "own"]
)
def test_dirty_throttle(inversions: Rows, pages: int, found: list[tuple[object, ...]]) -> None:
    """The writer's io brings 100 pages to the device, the flusher ``pages`` of the backup's."""
    stage = Stage()
    synth = stage.synth
    synth.sleep(stage.fg, 120 * US, 150 * US, reason=WaitReason.DIRTY_THROTTLE)
    synth.io(stage.fg, 90 * US, 100 * US, size=100 * 4096)
    io = synth.io(stage.flusher, 80 * US, 130 * US, size=pages * 4096)
    synth.cause(io, stage.bg)
    rows = inversions(synth)
    assert [row[1:3] + row[4:] for row in rows] == found
    assert {(row[0], row[3]) for row in rows} <= {
        ("dirty_throttle", "fsync → dirty_throttle behind backup")
    }


@pytest.mark.parametrize(("who", "n"), [("backup", 1), ("client", 0), ("jbd2", 0), ("nobody", 0)])
def test_cpu(inversions: Rows, who: str, n: int) -> None:
    stage = Stage()
    ran = {"backup": stage.bg, "client": stage.client, "jbd2": stage.jbd2, "nobody": 0}[who]
    stage.synth.preempt(stage.fg, 110 * US, 190 * US, ran=ran)
    expected = ("cpu", "backup", 80 * US, "fsync → runqueue behind backup", 1.0)
    assert inversions(stage.synth) == [expected] * n


def test_cpu_counts_only_what_the_background_had_of_it(inversions: Rows) -> None:
    """From 110 to 190 the client ran for 20 µs, the backup for 52, the client for 8 again."""
    stage = Stage()
    synth = stage.synth
    synth.preempt(stage.client, 100 * US, 105 * US, ran=stage.fg)
    synth.preempt(stage.bg, 120 * US, 130 * US, ran=stage.client)
    synth.preempt(stage.client, 130 * US, 182 * US, ran=stage.bg)
    synth.preempt(stage.fg, 110 * US, 190 * US, ran=stage.client)
    chain = "fsync → runqueue behind backup"
    assert inversions(synth) == [("cpu", "backup", 52 * US, chain, 1.0)]


def test_switching_tasks_takes_time_that_is_nobodys_fault(inversions: Rows) -> None:
    stage = Stage()
    stage.synth.preempt(stage.fg, 110 * US, 119 * US, ran=stage.bg)
    assert inversions(stage.synth) == []


def test_every_kind_is_tested_in_one_of_these_files() -> None:
    """Here, in test_inversions, test_interrupts, test_quota, or those of flushes and refaults."""
    assert set(KINDS) == {
        *("lock", "condition", "io_dependency", "admission_slot", "admission_tag"),
        *("dirty_throttle", "queue", "device", "flush", "cpu", "cpu_max", "refault"),
        "interrupt",
    }
