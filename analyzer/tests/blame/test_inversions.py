"""Inversions worked out by hand: who is blamed, for how long, through which chain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows

BACKGROUND = [("background", "comm:checkpointer")]


@pytest.mark.parametrize(
    ("roles", "found"),
    [
        (
            BACKGROUND,
            [
                (
                    "io_dependency",
                    "checkpointer",
                    65,
                    "fsync → journal_commit (jbd2/sda-8) → page_writeback → io by checkpointer",
                    1.0,
                )
            ],
        ),
        ([("foreground", "comm:checkpointer"), ("foreground", "comm:writer")], []),
    ],
)
def test_io_dependency_through_jbd2(
    inversions: Rows, roles: list[tuple[str, str]], found: list[tuple[object, ...]]
) -> None:
    synth = Synth(roles)
    fg = synth.task("writer", target=True)
    jbd2 = synth.task("jbd2/sda-8", kthread=True)
    bg = synth.task("checkpointer")
    synth.request(fg, 1000, 1100)
    synth.sleep(fg, 1010, 1090, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    io = synth.io(bg, 1030, 1084, issued=1040)
    synth.sleep(jbd2, 1020, 1085, io=io, stack=["folio_wait_writeback"])
    assert inversions(synth) == found


@pytest.mark.parametrize(
    ("reason", "kind", "chain"),
    [
        (WaitReason.LOCK, "lock", "fsync → lock (checkpointer)"),
        (WaitReason.SYSV_SEM, "lock", "fsync → sysv_sem (checkpointer)"),
        (WaitReason.JOURNAL_HANDLE, "condition", "fsync → journal_handle (checkpointer)"),
    ],
)
def test_background_waker_held_a_lock_or_a_condition(
    inversions: Rows, reason: WaitReason, kind: str, chain: str
) -> None:
    synth = Synth(BACKGROUND)
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 180, 185, waker=bg, reason=reason)
    synth.sleep(bg, 120, 150, io=synth.io(bg, 115, 150), stack=["io_schedule"])
    assert inversions(synth) == [(kind, "checkpointer", 70, chain, 1.0)]


@pytest.mark.parametrize(("owned", "kind"), [(True, "lock"), (False, "condition")])
def test_futex_with_an_owner_is_a_lock(inversions: Rows, owned: bool, kind: str) -> None:
    synth = Synth(BACKGROUND)
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    synth.request(fg, 100, 200)
    owner = bg if owned else 0
    synth.sleep(fg, 110, 180, waker=bg, reason=WaitReason.FUTEX, owner=owner)
    synth.first_seen(bg, 50)
    assert inversions(synth) == [(kind, "checkpointer", 70, "fsync → futex (checkpointer)", 1.0)]


def test_first_background_task_on_the_chain_is_the_culprit(inversions: Rows) -> None:
    synth = Synth([*BACKGROUND, ("background", "comm:deeper")])
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    deeper = synth.task("deeper")
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 190, waker=bg, reason=WaitReason.LOCK)
    synth.sleep(bg, 120, 180, waker=deeper, reason=WaitReason.LOCK)
    chain = "fsync → lock (checkpointer) → lock (deeper)"
    assert inversions(synth) == [("lock", "checkpointer", 80, chain, 1.0)]


def behind(background: bool) -> Synth:
    """Own io queued 110, issued 160; two ios of others occupy the device until 155."""
    synth = Synth(BACKGROUND)
    fg = synth.task("writer", target=True)
    other = synth.task("checkpointer" if background else "writer", target=not background)
    synth.io(other, 90, 140, size=65536)
    synth.io(other, 95, 155, size=65536)
    synth.io(other, 10, 50, size=65536)  # long done
    io = synth.io(fg, 110, 180, issued=160)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 112, 180, io=io, stack=["folio_wait_writeback"])
    return synth


def test_queue_behind_background(inversions: Rows, ask: Ask) -> None:
    synth = behind(background=True)
    chain = "fsync → page_writeback → io by writer → queue behind checkpointer"
    assert inversions(synth) == [("queue", "checkpointer", 48, chain, 1.0)]
    sql = "SELECT n_ios_ahead, bytes_ahead, n_ios_all, bytes_all, share FROM inversion"
    assert ask(synth, sql) == [(2, 131072, 2, 131072, 0.48)]


def test_queue_behind_foreground_is_no_inversion(inversions: Rows) -> None:
    assert inversions(behind(background=False)) == []


@pytest.mark.parametrize(("pid", "n"), [(10, 0), (11, 1)], ids=["own process", "another"])
def test_queue_behind_another_thread_without_a_role(inversions: Rows, pid: int, n: int) -> None:
    synth = Synth()
    fg = synth.task("writer", tid=10, target=True)
    synth.io(synth.task("thread", pid=pid), 90, 155)
    io = synth.io(fg, 110, 180, issued=160)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 112, 180, io=io)
    assert [row[:2] for row in inversions(synth)] == [("queue", "thread")] * n


def device(solo_ns: int | None, beside: bool = True) -> Synth:
    """Own io at the device for 60 ns while a checkpointer's is; ``solo_ns``: alone before."""
    synth = Synth(BACKGROUND)
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    if solo_ns is not None:
        synth.io(fg, 1000, 1000 + solo_ns)
    if beside:
        synth.io(bg, 10100, 10200, size=65536)
    io = synth.io(fg, 10110, 10170)
    synth.request(fg, 10100, 10200)
    synth.sleep(fg, 10110, 10170, io=io, stack=["folio_wait_writeback"])
    return synth


CHAIN = "fsync → page_writeback → io by writer → device shared with checkpointer"


def test_device_counts_only_the_excess_over_solo_service(inversions: Rows) -> None:
    assert inversions(device(solo_ns=20)) == [("device", "checkpointer", 40, CHAIN, 1.0)]


def test_device_excess_below_a_tenth_is_jitter(inversions: Rows) -> None:
    assert inversions(device(solo_ns=55)) == []


def test_device_without_background_in_flight_is_no_inversion(inversions: Rows) -> None:
    assert inversions(device(solo_ns=20, beside=False)) == []


def test_solo_time_nobody_saw_is_a_guess(inversions: Rows) -> None:
    synth = device(solo_ns=None)
    bg = synth.task("checkpointer")
    synth.io(bg, 20000, 20030)  # the fastest of this size, but not alone
    synth.io(bg, 20000, 20030)
    assert inversions(synth) == [("device", "checkpointer", 30, CHAIN, 0.5)]


def lock_by(comm: str, **task: Any) -> Synth:
    synth = Synth()
    fg = synth.task("writer", tid=50, target=True)
    holder = synth.task(comm, **task)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 160, waker=holder, reason=WaitReason.LOCK)
    synth.preempt(holder, 105, 106)
    return synth


def test_task_without_a_role_is_suspected_at_half_the_confidence(inversions: Rows) -> None:
    found = inversions(lock_by("backup"))
    assert found == [("lock", "backup", 50, "fsync → lock (backup)", 0.5)]


@pytest.mark.parametrize(
    "task",
    [{"kthread": True}, {"recorder": True}, {"target": True}, {"pid": 50}],
    ids=["kernel thread", "recorder", "foreground", "own process"],
)
def test_never_culprits(inversions: Rows, task: dict[str, Any]) -> None:
    assert inversions(lock_by("holder", **task)) == []


def test_background_thread_of_the_own_process_is_a_culprit_when_a_rule_says_so(
    inversions: Rows,
) -> None:
    synth = lock_by("compaction", pid=50)
    synth.meta["roles"] = [{"role": "background", "rule": "comm:compaction"}]
    assert [row[:2] for row in inversions(synth)] == [("lock", "compaction")]


def test_peer_of_a_pipe_is_no_culprit(inversions: Rows) -> None:
    synth = Synth()
    fg, peer = synth.task("server", target=True), synth.task("client")
    synth.request(fg, 100, 200, nr=0)
    synth.sleep(fg, 110, 190, waker=peer, stack=["schedule", "pipe_read"])
    assert inversions(synth) == []


def test_requests_of_background_tasks_are_not_judged(inversions: Rows) -> None:
    synth = Synth(BACKGROUND)
    bg, other = synth.task("checkpointer", target=True), synth.task("backup")
    synth.request(bg, 100, 200)
    synth.sleep(bg, 110, 190, waker=other, reason=WaitReason.LOCK)
    assert inversions(synth) == []


def test_lost_sleeps_lower_confidence(inversions: Rows) -> None:
    synth = lock_by("backup")
    synth.meta["roles"] = [{"role": "background", "rule": "comm:backup"}]
    synth.counters = {"written": {"sleep": [30, 30]}, "lost": {"sleep": [40, 0]}}
    assert inversions(synth)[0][4] == pytest.approx(0.6)


def test_alike_requests_are_one_pattern(ask: Ask) -> None:
    synth = Synth([("background", "comm:bg-*")])
    fg = synth.task("writer", target=True)
    for at in range(1, 4):
        bg = synth.task(f"bg-{at}")
        synth.request(fg, at * 1000, at * 1000 + 100)
        synth.sleep(fg, at * 1000 + 10, at * 1000 + 10 + at * 20, waker=bg, reason=WaitReason.LOCK)
    sql = "SELECT rank, kind, culprit, pattern, n_requests, dur, max_dur, worst_request_id"
    assert ask(synth, f"{sql} FROM inversion_pattern") == [
        (1, "lock", "bg-*", "fsync → lock (bg-*)", 3, 120, 60, 3)
    ]
