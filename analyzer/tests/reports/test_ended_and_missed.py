"""How many inversions the patched kernel ended and missed, by mechanism: events in, rows out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.reports.inheritance import EndedOrMissed, ended_and_missed
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import FoundBy, Mechanism, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load

MS = 1_000_000
US = 1_000
OTHER = EndedOrMissed("device", 0, 0, 0, 1, 1, 10 * MS, 10 * MS)
"""What ``foreign_read`` adds: the kernel did something in the recording, but not here."""


def synth_with_roles() -> Synth:
    return Synth([("background", "comm:backup"), ("background", "comm:rm")])


def foreign_read(synth: Synth) -> None:
    """Another request waits for 10 ms for an io of a backup, which is at the device already.

    Something else was lent meanwhile, so that it is the patched kernel's recording.
    """
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 900 * MS, 911 * MS)
    io = synth.io(bg, 890 * MS, 910 * MS, got=891 * MS, issued=892 * MS)
    synth.sleep(fg, 900 * MS, 910 * MS, io=io, reason=WaitReason.PAGE_WRITEBACK)
    synth.lend(synth.task("bystander"), 950 * MS, synth.task("bystander"), Mechanism.RWSEM)


@pytest.mark.parametrize(
    ("reason", "mechanism", "name"),
    [
        (WaitReason.LOCK, Mechanism.MUTEX, "lock"),
        (WaitReason.LOCK, Mechanism.RWSEM, "lock"),
        (WaitReason.FUTEX, Mechanism.FUTEX, "futex"),
        (WaitReason.JOURNAL_HANDLE, Mechanism.HANDLE, "journal"),
    ],
)
@pytest.mark.parametrize("is_lent", [True, False])
def test_a_wait_for_background_is_ended_by_a_loan(
    load: Load, reason: WaitReason, mechanism: Mechanism, name: str, is_lent: bool
) -> None:
    """The request sleeps from 2 to 30 ms, until a task of the background wakes it."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 0, 40 * MS)
    if is_lent:
        synth.lend(fg, 2 * MS - 20 * US, bg, mechanism)
    synth.sleep(fg, 2 * MS, 30 * MS, waker=bg, reason=reason)
    ended = EndedOrMissed(name, 1, 1, 28 * MS, 0, 0, 0, None)
    missed = EndedOrMissed(name, 0, 0, 0, 1, 1, 28 * MS, 28 * MS)
    found = ended_and_missed(load(synth))
    assert sorted(found) == sorted([OTHER, ended if is_lent else missed])


@pytest.mark.parametrize("is_handle_lent", [True, False])
def test_a_chain_is_ended_only_when_its_last_task_has_a_loan(
    load: Load, is_handle_lent: bool
) -> None:
    """An fsync waits for jbd2, which always has its loan, and jbd2 for the handle of a truncate."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, rm = synth.task("writer", target=True), synth.task("rm")
    jbd2 = synth.task("jbd2/nvme0n1-8", kthread=True)
    synth.request(fg, 0, 40 * MS)
    synth.lend(fg, 2 * MS - 20 * US, jbd2, Mechanism.COMMIT)
    if is_handle_lent:
        synth.lend(jbd2, 3 * MS - 20 * US, rm, Mechanism.HANDLE)
    synth.sleep(jbd2, 3 * MS, 28 * MS, waker=rm, reason=WaitReason.JOURNAL_HANDLE)
    synth.sleep(fg, 2 * MS, 30 * MS, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    ended = EndedOrMissed("journal", 1, 1, 25 * MS, 0, 0, 0, None)
    missed = EndedOrMissed("journal", 0, 0, 0, 1, 1, 25 * MS, 25 * MS)
    found = ended_and_missed(load(synth))
    assert sorted(found) == sorted([OTHER, ended if is_handle_lent else missed])


def test_a_loan_to_the_kernel_alone_ends_no_inversion(load: Load) -> None:
    """Each critical fsync lends to the journal's thread, which here writes nobody else's data."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, jbd2 = synth.task("writer", target=True), synth.task("jbd2/nvme0n1-8", kthread=True)
    synth.request(fg, 0, 4 * MS)
    synth.lend(fg, 1 * MS - 20 * US, jbd2, Mechanism.COMMIT)
    synth.sleep(fg, 1 * MS, 3 * MS, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    assert ended_and_missed(load(synth)) == [OTHER]


@pytest.mark.parametrize("is_promoted", [True, False])
def test_an_io_behind_others_is_ended_by_a_promotion(load: Load, is_promoted: bool) -> None:
    """A read of the page cache's own worker is queued from 1 to 20 ms, behind one of the backup."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    worker = synth.task("kworker/0:1", kthread=True)
    synth.request(fg, 0, 40 * MS)
    synth.io(bg, 0, 35 * MS, got=500 * US, issued=19 * MS)
    io = synth.io(worker, 500 * US, 22 * MS, got=1 * MS, issued=20 * MS)
    if is_promoted:
        synth.promote(fg, 9 * MS, io, 8 * MS, FoundBy.MAPPING)
    synth.sleep(fg, 2 * MS, 22 * MS, io=io, reason=WaitReason.PAGE_LOCK)
    (queue,) = [one for one in ended_and_missed(load(synth)) if one.mechanism == "queue"]
    if is_promoted:
        assert queue == EndedOrMissed("queue", 1, 1, 18 * MS, 0, 0, 0, None)
    else:
        assert queue == EndedOrMissed("queue", 0, 0, 0, 1, 1, 18 * MS, 18 * MS)


def test_a_promotion_that_left_no_delay_is_ended_too(load: Load) -> None:
    """Nothing was ahead of the io, so nobody is to blame for the time in the queue."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, worker = synth.task("writer", target=True), synth.task("kworker/0:1", kthread=True)
    synth.request(fg, 0, 4 * MS)
    io = synth.io(worker, 500 * US, 3 * MS, got=1 * MS, issued=1 * MS + 200 * US)
    synth.promote(fg, 1 * MS + 100 * US, io, 100 * US, FoundBy.MAPPING)
    synth.sleep(fg, 1 * MS, 3 * MS, io=io, reason=WaitReason.PAGE_LOCK)
    ended = EndedOrMissed("queue", 1, 1, 0, 0, 0, 0, None)
    assert sorted(ended_and_missed(load(synth))) == sorted([OTHER, ended])


def test_a_wait_for_a_slot_that_background_has_is_missed(load: Load) -> None:
    """The backup has all slots; the writer sleeps 28 ms, until one of its ios makes place."""
    synth = synth_with_roles()
    foreign_read(synth)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 0, 40 * MS)
    for end in (36 * MS, 36 * MS):
        synth.io(bg, 0, end)
    last = synth.io(bg, 0, 30 * MS)
    synth.io(fg, 1 * MS, 38 * MS, got=30 * MS + US)
    synth.sleep(fg, 2 * MS, 30 * MS, io=last, stack=["io_schedule", "rq_qos_wait"])
    missed = EndedOrMissed("slot", 0, 0, 0, 1, 1, 28 * MS, 28 * MS)
    assert sorted(ended_and_missed(load(synth))) == sorted([OTHER, missed])


def test_requests_nobody_marked_are_not_counted(load: Load) -> None:
    synth = synth_with_roles()
    foreign_read(synth)
    other, bg = synth.task("other"), synth.task("backup")
    synth.request(other, 0, 40 * MS)
    synth.lend(other, 2 * MS - 20 * US, bg, Mechanism.MUTEX)
    synth.sleep(other, 2 * MS, 30 * MS, waker=bg, reason=WaitReason.LOCK)
    assert ended_and_missed(load(synth)) == [OTHER]


def test_another_kernel_ended_and_missed_nothing(load: Load) -> None:
    synth = synth_with_roles()
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 0, 40 * MS)
    synth.sleep(fg, 2 * MS, 30 * MS, waker=bg, reason=WaitReason.LOCK)
    assert ended_and_missed(load(synth)) == []
