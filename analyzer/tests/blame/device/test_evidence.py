"""Who dirtied, who held the journal, who was paused: records in, views out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load

PARTITION = DEVICE + 1
BLAME = "SELECT io_id, comm, kind, share FROM io_blame ORDER BY io_id, share DESC, comm"


def shared_io() -> Synth:
    """Io 1 writes pages two tasks dirtied, io 2 a transaction of two, io 3 its submitter's."""
    synth = Synth([("background", "comm:checkpointer")])
    fg, bg = synth.task("writer", tid=10, target=True), synth.task("checkpointer", tid=20)
    flusher = synth.task("kworker/u4:1", tid=30, kthread=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=40, kthread=True)
    dirtied = synth.io(flusher, 100, 200, size=16384, ino=7)
    synth.cause(dirtied, bg, ino=7, n_pages=3, n_causes=2)
    synth.cause(dirtied, fg, ino=7, n_pages=1, n_causes=2)
    synth.commit(jbd2, 300, 400, transaction=5)
    synth.handle(fg, 210, 220, transaction=5)
    synth.handle(bg, 215, 290, transaction=5, n=3)
    synth.handle(bg, 415, 490, transaction=6, n=9)
    synth.io(jbd2, 310, 390)
    synth.io(jbd2, 400, 450)
    synth.file(7, "16384", "base")
    return synth


def test_an_io_is_the_work_of_its_dirtiers_else_of_its_transaction_else_its_submitters(
    ask: Ask,
) -> None:
    assert ask(shared_io(), BLAME) == [
        (1, "checkpointer", "dirtier", 0.75),
        (1, "writer", "dirtier", 0.25),
        (2, "checkpointer", "journal", 0.75),
        (2, "writer", "journal", 0.25),
        (3, "jbd2/nvme0n1-8", "submitter", 1.0),
    ]


def test_data_a_commit_writes_out_is_still_its_dirtiers(ask: Ask) -> None:
    synth = shared_io()
    ordered = synth.io(40, 320, 380, ino=7)
    synth.cause(ordered, 10, ino=7)
    assert ask(synth, BLAME)[-1] == (4, "writer", "dirtier", 1.0)


def test_an_unfinished_commit_goes_on(ask: Ask) -> None:
    synth = Synth()
    fg, jbd2 = synth.task("writer", target=True), synth.task("jbd2/x", kthread=True)
    synth.commit(jbd2, 100, 0)
    synth.handle(fg, 10, 20)
    synth.io(jbd2, 5000, 6000)
    assert ask(synth, BLAME) == [(1, "writer", "journal", 1.0)]


def test_a_transaction_names_its_contributors(ask: Ask) -> None:
    sql = "SELECT comm, role, n_handles, held_dur, share FROM journal_contributor"
    assert ask(shared_io(), f"{sql} WHERE transaction_id = 5 ORDER BY comm") == [
        ("checkpointer", "background", 3, 75, 0.75),
        ("writer", "foreground", 1, 10, 0.25),
    ]


def test_a_file_knows_its_writers(ask: Ask) -> None:
    synth = shared_io()
    synth.io(10, 500, 510, ino=7, op=0)
    assert ask(synth, "SELECT path, n_reads, n_writes, written_bytes, writers FROM file_io") == [
        ("base/16384", 1, 1, 16384, ["checkpointer", "writer"])
    ]


@pytest.mark.parametrize(
    ("files", "path"),
    [
        ([(DEVICE, "wal")], "pg/wal"),
        ([(PARTITION, "wal")], "pg/wal"),
        ([(DEVICE + (1 << 20), "wal")], "inode 9"),  # another disk's
        ([(253 << 20, "wal")], "pg/wal"),  # a file system on LVM
        ([(DEVICE, "wal"), (PARTITION, "other")], "inode 9"),  # which of them?
        ([], "inode 9"),
    ],
)
def test_an_io_without_a_dirtier_finds_its_file_by_inode(
    ask: Ask, files: list[tuple[int, str]], path: str
) -> None:
    devices = {DEVICE: "nvme0n1", PARTITION: "nvme0n1p1", DEVICE + (1 << 20): "sda"}
    devices[253 << 20] = "dm-0"
    synth = Synth(devices={str(dev): name for dev, name in devices.items()})
    synth.io(synth.task("writer"), 100, 200, ino=9)
    for dev, name in files:
        synth.file(9, name, "pg", dev=dev)
    assert ask(synth, "SELECT path FROM io_file") == [(path,)]


def test_a_file_met_twice_is_one_with_its_last_name(ask: Ask) -> None:
    synth = Synth()
    synth.file(9, "old", "pg")
    synth.file(9, "new", "pg")
    synth.file(9, "", "")
    synth.file(3, "etc", "/")
    assert ask(synth, "SELECT ino, path FROM file ORDER BY ino") == [(3, "etc"), (9, "pg/new")]


def test_a_throttled_sleep_knows_its_decision(ask: Ask) -> None:
    synth = Synth()
    fg, other = synth.task("writer", tid=10, target=True), synth.task("other", tid=11)
    synth.throttle(fg, 100, pause_ms=10, dirty=920)
    synth.sleep(fg, 101, 10_000_101, reason=WaitReason.DIRTY_THROTTLE)
    synth.throttle(fg, 20_000_000, pause_ms=0)
    synth.sleep(fg, 20_000_010, 20_000_020, reason=WaitReason.LOCK)
    synth.sleep(fg, 30_000_000, 40_000_000, reason=WaitReason.DIRTY_THROTTLE)  # decision lost
    synth.sleep(other, 101, 200, reason=WaitReason.DIRTY_THROTTLE)
    assert ask(
        synth,
        "SELECT sleep_id, comm, dur, pause_dur, dirty_pages, limit_pages"
        " FROM throttle_wait JOIN task USING (utid)",
    ) == [(1, "writer", 10_000_000, 10_000_000, 920, 1000)]


def test_a_runnable_task_knows_who_ran(ask: Ask) -> None:
    synth = Synth([("background", "comm:rsync")])
    fg, bg = synth.task("writer", target=True), synth.task("rsync")
    synth.sleep(fg, 100, 110, 150, ran=bg)
    synth.preempt(fg, 200, 230, ran=bg)
    synth.preempt(fg, 300, 310)
    assert ask(synth, "SELECT ts, dur, ran_comm, ran_role FROM runqueue_wait ORDER BY ts") == [
        (110, 40, "rsync", "background"),
        (200, 30, "rsync", "background"),
        (300, 10, None, None),
    ]


def test_sleeps_and_ios_keep_their_inode(ask: Ask) -> None:
    synth = Synth()
    fg, bg = synth.task("writer"), synth.task("holder")
    synth.sleep(fg, 1, 2, ino=7, dev=DEVICE, reason=WaitReason.FUTEX, owner=bg, guessed=True)
    synth.io(fg, 1, 2, ino=7, cgroup_id=3)
    synth.sleep(fg, 3, 4)
    assert ask(
        synth,
        "SELECT ino, dev, comm, is_owner_guessed FROM sleep "
        "LEFT JOIN task ON task.utid = owner_utid ORDER BY ts",
    ) == [
        (7, DEVICE, "holder", True),
        (None, None, None, False),
    ]
    assert ask(synth, "SELECT ino, cgroup_id FROM io") == [(7, 3)]


def test_points_and_sockets_name_their_requests(load: Load) -> None:
    synth = Synth(request_points={"65536": "transaction"})
    fg = synth.task("postgres", target=True)
    synth.request(fg, 100, 900, nr=65536)
    synth.request(fg, 200, 300)
    synth.request(fg, 1000, 1100, nr=1 << 17)
    store = load(synth)
    assert store.query("SELECT name, parent_request_id FROM request ORDER BY request_id") == [
        ("transaction", None),
        ("fsync", 1),
        ("socket", None),
    ]
