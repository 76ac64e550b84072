"""Chains through other tasks, kernel helpers and interrupts: two to four steps, by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows

US = 1000
ROLES = [
    ("foreground", "comm:writer"),
    ("foreground", "comm:client"),
    ("background", "comm:backup"),
]
DEPTHS = "SELECT kind, depth, chain FROM inversion ORDER BY inversion_id"


def recording(*helpers: str) -> tuple[Synth, int, int, dict[str, int]]:
    """A write from 100 to 200 µs, a backup, and kernel threads by name."""
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    kernel = {name: synth.task(name, kthread=True) for name in helpers}
    for task in (bg, *kernel.values()):
        synth.preempt(task, 1, 2)  # they are watched
    synth.request(fg, 100 * US, 200 * US, nr=WRITE)
    return synth, fg, bg, kernel


def test_two_steps_a_lock_whose_holder_waits_for_its_io(ask: Ask) -> None:
    synth, fg, bg, _ = recording()
    synth.sleep(fg, 110 * US, 190 * US, waker=bg, reason=WaitReason.LOCK)
    synth.sleep(bg, 120 * US, 180 * US, io=synth.io(bg, 115 * US, 180 * US), stack=["io_schedule"])
    assert ask(synth, "SELECT kind, depth, dur, chain FROM inversion") == [
        ("lock", 2, 80 * US, "write → lock (backup) → device → io by backup")
    ]


def test_three_steps_a_lock_holder_that_waits_for_a_commit(ask: Ask) -> None:
    synth, fg, bg, kernel = recording("jbd2/sda-8")
    jbd2 = kernel["jbd2/sda-8"]
    synth.sleep(fg, 110 * US, 190 * US, waker=bg, reason=WaitReason.LOCK)
    synth.sleep(bg, 115 * US, 185 * US, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    io = synth.io(jbd2, 120 * US, 180 * US)
    synth.sleep(jbd2, 120 * US, 180 * US, io=io, stack=["__wait_on_buffer"])
    chain = "write → lock (backup) → journal_commit (jbd2/sda-8) → buffer_lock → io by jbd2/sda-8"
    assert ask(synth, DEPTHS) == [("lock", 3, chain)]


def four_steps() -> Synth:
    """Inode lock → transaction that is locked → a handle still open → no tag for its holder."""
    synth, fg, bg, kernel = recording("jbd2/sda-8", "kworker/u8:1")
    jbd2, flusher = kernel.values()
    synth.sleep(fg, 110 * US, 190 * US, waker=bg, reason=WaitReason.LOCK)
    synth.sleep(bg, 112 * US, 188 * US, waker=jbd2, reason=WaitReason.JOURNAL_HANDLE)
    synth.sleep(jbd2, 114 * US, 186 * US, waker=flusher, reason=WaitReason.JOURNAL_HANDLE)
    synth.io(bg, 50 * US, 184 * US)
    tag = synth.io(bg, 60 * US, 184 * US)
    synth.io(flusher, 115 * US, 300 * US, got=185 * US)
    synth.sleep(flusher, 116 * US, 184 * US, io=tag, stack=["blk_mq_get_tag"])
    return synth


def test_four_steps_from_the_inode_lock_to_a_flusher_without_a_tag(ask: Ask) -> None:
    """The longest chain of the RCP paper: 80 µs behind backup's lock, most of it at the end."""
    synth = four_steps()
    chain = (
        "write → lock (backup) → journal_handle (jbd2/sda-8) → journal_handle (kworker/u8:1)"
        " → admission_tag → io by backup"
    )
    assert ask(synth, DEPTHS) == [("lock", 4, chain)]


def test_four_steps_held_by_foreground_end_at_who_has_the_tags(inversions: Rows) -> None:
    """The same with a client's inode lock: only the last wait is the backup's doing."""
    synth = four_steps()
    synth.meta["roles"] = [
        {"role": "foreground", "rule": "comm:writer"},
        {"role": "foreground", "rule": "comm:backup"},
        {"role": "background", "rule": "comm:vacuum"},
    ]
    assert inversions(synth) == []
    vacuum = synth.task("vacuum")
    for _ in range(6):
        synth.io(vacuum, 20 * US, 250 * US)
    assert inversions(synth) == [
        (
            "admission_tag",
            "vacuum",
            68 * US,
            "write → lock (backup) → journal_handle (jbd2/sda-8) → journal_handle (kworker/u8:1)"
            " → admission_tag behind vacuum",
            1.0,
        )
    ]


@pytest.mark.parametrize("worker", ["kworker/0:1", "kworker/u8:3"])
def test_end_of_an_io_in_a_workqueue(ask: Ask, segments: Rows, worker: str) -> None:
    """The io ends in an interrupt; a worker converts extents, then wakes who waits."""
    synth, fg, bg, kernel = recording(worker, "kworker/u8:1")
    conversion, flusher = kernel.values()
    io = synth.io(flusher, 105 * US, 170 * US)
    synth.cause(io, bg)
    synth.sleep(conversion, 50 * US, 170 * US, 175 * US, io=io, stack=["worker_thread"])
    synth.sleep(fg, 110 * US, 190 * US, waker=conversion, stack=["folio_wait_writeback"])
    chain = f"write → page_writeback ({worker}) → condition → io by kworker/u8:1 for backup"
    assert ask(synth, "SELECT kind, depth, dur, chain FROM inversion") == [
        ("io_dependency", 2, 60 * US, chain)
    ]
    assert segments(synth)[1:4] == [
        (110 * US, 60 * US, "device", "io 1"),
        (170 * US, 5 * US, "runqueue", worker),
        (175 * US, 15 * US, "cpu", worker),
    ]


def test_worker_that_was_given_the_work_leads_to_who_gave_it(segments: Rows) -> None:
    """Queued at 130 by the journal thread, which until then had waited for its log."""
    synth, fg, _, kernel = recording("kworker/0:1", "jbd2/sda-8")
    worker, jbd2 = kernel.values()
    io = synth.io(jbd2, 105 * US, 125 * US)
    synth.sleep(jbd2, 106 * US, 125 * US, io=io)
    synth.sleep(worker, 50 * US, 130 * US, waker=jbd2, stack=["worker_thread"])
    synth.sleep(fg, 110 * US, 150 * US, waker=worker, stack=["__wait_for_common"])
    assert segments(synth)[1:4] == [
        (110 * US, 15 * US, "device", "io 1"),
        (125 * US, 5 * US, "cpu", "jbd2/sda-8"),
        (130 * US, 20 * US, "cpu", "kworker/0:1"),
    ]


def test_completion_in_a_softirq_names_the_io(inversions: Rows) -> None:
    """Whoever the softirq interrupted is not the waker."""
    synth, fg, bg, _ = recording()
    synth.sleep(fg, 110 * US, 190 * US, io=synth.io(bg, 105 * US, 190 * US), waker=bg)
    assert [row[:3] for row in inversions(synth)] == [("io_dependency", "backup", 80 * US)]


@pytest.mark.parametrize("worker", ["iou-wrk-7", "iou-sqp-7"])
@pytest.mark.parametrize(("owner", "n"), [("backup", 1), ("writer", 0)])
def test_io_uring_workers_have_the_role_of_their_task(
    inversions: Rows, worker: str, owner: str, n: int
) -> None:
    synth = Synth(ROLES)
    fg, other = synth.task("writer", target=True), synth.task(owner, tid=7)
    helper = synth.task(worker, pid=other)
    synth.preempt(helper, 1, 2)
    synth.request(fg, 100 * US, 200 * US)
    synth.sleep(fg, 110 * US, 190 * US, waker=helper, reason=WaitReason.LOCK)
    assert [row[:3] for row in inversions(synth)] == [("lock", worker, 80 * US)] * n


@pytest.mark.parametrize(
    ("rules", "n"),
    [
        ([("background", "comm:backup"), ("foreground", "comm:*")], 1),
        ([("background", "comm:backup"), ("foreground", "comm:iou-*")], 0),
        ([("background", "comm:backup")], 1),
        ([("background", "pid:7")], 1),
    ],
    ids=["a glob for all", "a glob for workers", "background alone", "by pid"],
)
@pytest.mark.parametrize("worker", ["iou-wrk-7", "iou-sqp-7"])
def test_a_glob_that_also_matches_its_task_is_no_rule_for_a_worker(
    inversions: Rows, worker: str, rules: list[tuple[str, str]], n: int
) -> None:
    synth = Synth(rules)
    fg, backup = synth.task("server", target=True), synth.task("backup", tid=7)
    helper = synth.task(worker, pid=7)
    for tid in (helper, backup):
        synth.preempt(tid, 1, 2)
    synth.request(fg, 100 * US, 200 * US)
    synth.sleep(fg, 110 * US, 190 * US, waker=helper, reason=WaitReason.LOCK)
    assert [row[:3] for row in inversions(synth)] == [("lock", worker, 80 * US)] * n


@pytest.mark.parametrize(
    ("waker", "owner", "guessed", "found"),
    [
        ("backup", "client", False, [("backup", 1.0)]),
        ("client", "backup", False, []),
        (None, "backup", False, [("backup", 0.5)]),
        (None, "backup", True, [("backup", 0.5)]),
        (None, None, False, []),
    ],
    ids=["waker", "waker before owner", "owner", "owner, a guess", "nobody"],
)
@pytest.mark.parametrize("reason", [WaitReason.FUTEX, WaitReason.SYSV_SEM, WaitReason.LOCK])
def test_waker_is_believed_before_the_owner(
    inversions: Rows,
    waker: str | None,
    owner: str | None,
    guessed: bool,
    found: list[tuple[str, float]],
    reason: WaitReason,
) -> None:
    synth, fg, bg, _ = recording()
    ids = {"backup": bg, "client": synth.task("client"), None: 0}
    synth.sleep(
        fg, 110 * US, 190 * US, waker=ids[waker], owner=ids[owner], guessed=guessed, reason=reason
    )
    assert [(row[1], row[4]) for row in inversions(synth)] == found


def test_condition_variable_leads_to_the_signaller(inversions: Rows) -> None:
    """A condition variable is a futex nobody owns."""
    synth, fg, bg, _ = recording()
    synth.sleep(fg, 110 * US, 190 * US, waker=bg, reason=WaitReason.FUTEX)
    assert inversions(synth) == [("condition", "backup", 80 * US, "write → futex (backup)", 1.0)]


def own_helpers(synth: Synth, fg: int) -> None:
    """Its own write, and jbd2 committing nothing but its own handle."""
    jbd2 = synth.task("jbd2/sda-8", kthread=True)
    synth.handle(fg, 100 * US, 105 * US)
    synth.commit(jbd2, 130 * US, 180 * US)
    synth.sleep(fg, 110 * US, 125 * US, io=synth.io(fg, 108 * US, 125 * US))
    synth.sleep(fg, 128 * US, 190 * US, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    synth.sleep(jbd2, 140 * US, 178 * US, io=synth.io(jbd2, 140 * US, 178 * US))


def other_client(synth: Synth, fg: int) -> None:
    client = synth.task("client")
    synth.sleep(fg, 110 * US, 190 * US, waker=client, reason=WaitReason.LOCK)
    synth.sleep(client, 120 * US, 180 * US, io=synth.io(client, 120 * US, 180 * US))


def cpu_bound(synth: Synth, fg: int) -> None:
    synth.preempt(fg, 150 * US, 190 * US, ran=synth.task("client"))


def timer(synth: Synth, fg: int) -> None:
    synth.sleep(fg, 110 * US, 190 * US, interrupt=True, stack=["do_nanosleep"])


def network(synth: Synth, fg: int) -> None:
    peer = synth.task("curl")
    synth.sleep(fg, 110 * US, 150 * US, waker=peer, stack=["unix_stream_read_generic"])
    synth.sleep(fg, 150 * US, 170 * US, waker=peer, stack=["anon_pipe_read"])
    synth.sleep(fg, 170 * US, 190 * US, waker=peer, stack=["ep_poll"])


@pytest.mark.parametrize("happens", [own_helpers, other_client, cpu_bound, timer, network])
def test_what_looks_like_an_inversion_but_is_none(inversions: Rows, happens: object) -> None:
    """A backup runs all the while, on another device."""
    synth, fg, bg, _ = recording()
    synth.io(bg, 50 * US, 300 * US, size=1 << 20, dev=1 << 20)
    assert callable(happens)
    happens(synth, fg)
    assert inversions(synth) == []
