"""Who waits in a lock's queue is to blame for the time it has the lock, and for no more."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.codes import LockType
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1000
LOCK, OTHER = 0xFFFF800000001000, 0xFFFF800000002000
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]


def relay(
    reason: WaitReason = WaitReason.LOCK, *, inner: int = LOCK, owner: bool = False
) -> list[Found]:
    """client1 has the lock until 180 µs, backup until 190, then client2, who waits from 110 on."""
    synth = Synth(ROLES)
    holder, waiter = synth.task("client1"), synth.task("client2", target=True)
    backup = synth.task("backup")
    for task in (holder, backup):
        synth.preempt(task, 1, 2)  # they are watched
    owned: dict[str, Any] = {"owner": holder, "guessed": True} if owner else {}
    synth.request(waiter, 100 * US, 200 * US, nr=WRITE)
    synth.sleep(waiter, 110 * US, 190 * US, waker=backup, reason=reason, obj=LOCK, **owned)
    synth.sleep(backup, 105 * US, 180 * US, waker=holder, reason=reason, obj=inner, **owned)
    return found(synth)


def blamed(rows: list[Found]) -> list[tuple[str, str, int]]:
    return [(row.kind, row.culprit, row.dur // US) for row in rows]


def test_who_only_queued_is_blamed_for_its_own_time_with_the_lock() -> None:
    assert blamed(relay()) == [("lock", "backup", 10)]
    assert blamed(relay(WaitReason.SYSV_SEM)) == [("lock", "backup", 10)]
    assert blamed(relay(WaitReason.FILE_LOCK)) == [("lock", "backup", 10)]


def test_who_waits_for_another_lock_meanwhile_holds_the_first_one() -> None:
    assert blamed(relay(inner=OTHER)) == [("lock", "backup", 80)]


def test_without_an_address_nothing_is_known_of_two_locks() -> None:
    assert blamed(relay(inner=0)) == [("lock", "backup", 80)]


def test_who_waited_for_the_same_futex_did_not_hold_it_whoever_did() -> None:
    assert blamed(relay(WaitReason.FUTEX, owner=True)) == [("condition", "backup", 10)]
    assert blamed(relay(WaitReason.FUTEX)) == [("condition", "backup", 10)]


READ, WRITES = LockType.RWSEM_READ, LockType.RWSEM_WRITE


@pytest.mark.parametrize(
    ("waiter_wants", "backup_wants", "holder_waited", "until_us", "by_reader", "blamed_us"),
    [
        (READ, WRITES, None, 0, True, 80),  # without the backup both would read
        (READ, WRITES, READ, 120, False, 80),  # it has gone from a writer to a reader meanwhile
        (READ, WRITES, READ, 95, False, 10),  # it read before, and now writes
        (READ, WRITES, WRITES, 95, True, 80),  # it wrote before, and now reads
        (WRITES, WRITES, None, 0, True, 10),
        (READ, READ, None, 0, True, 10),
        (READ, WRITES, None, 0, False, 10),
        (READ, WRITES, WRITES, 120, True, 10),  # and from a reader to a writer
        (READ, LockType.MUTEX, None, 0, True, 10),
    ],
)
def test_a_reader_waits_for_a_writer_in_the_queue_and_so_for_readers(
    waiter_wants: LockType,
    backup_wants: LockType,
    holder_waited: LockType | None,
    until_us: int,
    by_reader: bool,
    blamed_us: int,
) -> None:
    """client1 has the lock until 180 µs; ``by_reader``: the first owner was one."""
    synth = Synth(ROLES)
    holder, waiter = synth.task("client1"), synth.task("client2", target=True)
    backup = synth.task("backup")
    for task in (holder, backup):
        synth.preempt(task, 1, 2)  # they are watched
    synth.request(waiter, 100 * US, 200 * US, nr=WRITE)
    lock: dict[str, Any] = {"reason": WaitReason.LOCK, "obj": LOCK, "guessed": by_reader}
    synth.sleep(waiter, 110 * US, 190 * US, waker=backup, **lock)
    synth.sleep(backup, 105 * US, 180 * US, waker=holder, **lock)
    synth.lock_wait(waiter, 109 * US, 191 * US, lock=LOCK, kind=waiter_wants)
    synth.lock_wait(backup, 104 * US, 181 * US, lock=LOCK, kind=backup_wants)
    if holder_waited is not None:
        synth.lock_wait(holder, 90 * US, until_us * US, lock=LOCK, kind=holder_waited)
    assert blamed(found(synth)) == [("lock", "backup", blamed_us)]


def test_a_writer_behind_another_one_is_not_what_keeps_readers_apart() -> None:
    """client1 reads until 170 µs, then client3 writes, then the backup, and then client2 reads."""
    synth = Synth(ROLES)
    holder, other = synth.task("client1"), synth.task("client3")
    waiter, backup = synth.task("client2", target=True), synth.task("backup")
    for task in (holder, other, backup):
        synth.preempt(task, 1, 2)
    synth.request(waiter, 100 * US, 200 * US, nr=WRITE)
    lock: dict[str, Any] = {"reason": WaitReason.LOCK, "obj": LOCK, "guessed": True}
    for task, begin, end, before, kind in (
        (other, 103, 170, holder, WRITES),
        (backup, 105, 180, other, WRITES),
        (waiter, 110, 190, backup, READ),
    ):
        synth.sleep(task, begin * US, end * US, waker=before, **lock)
        synth.lock_wait(task, begin * US, end * US, lock=LOCK, kind=kind)
    assert blamed(found(synth)) == [("lock", "backup", 10)]


@pytest.mark.parametrize(
    ("reason", "owned", "confidence"),
    [
        (WaitReason.FUTEX, False, 0.5),
        (WaitReason.FUTEX, True, 1.0),
        (WaitReason.LOCK, False, 1.0),
    ],
)
def test_who_waits_for_a_message_need_not_hold_what_others_wait_for(
    reason: WaitReason, owned: bool, confidence: float
) -> None:
    """It may have come to a lock that others had as well, and left it last.

    An owner that is named has it.
    """
    synth = Synth(ROLES)
    client, backup = synth.task("client", target=True), synth.task("backup")
    synth.preempt(backup, 1, 2)  # it is watched
    owner: dict[str, Any] = {"owner": backup} if owned else {}
    synth.request(client, 100 * US, 300 * US, nr=WRITE)
    synth.sleep(client, 110 * US, 290 * US, waker=backup, reason=reason, obj=LOCK, **owner)
    synth.sleep(backup, 50 * US, 280 * US, stack=["ep_poll"], interrupt=True)
    (row,) = found(synth)
    assert (row.culprit, row.dur) == ("backup", 180 * US)
    # It ran for the last 10 us.
    assert row.confidence == pytest.approx((170 * confidence + 10) / 180)


def test_a_lock_that_goes_through_fifty_hands_is_followed_to_who_had_it(inversions: Rows) -> None:
    """Another client has it until 1000 µs, then fifty of the background for 1 µs each."""
    synth = Synth(ROLES)
    holder, waiter = synth.task("client1"), synth.task("client2", target=True)
    hands = [holder, *(synth.task("backup") for _ in range(50)), waiter]
    for task in hands[:-1]:
        synth.preempt(task, 1, 2)  # they are watched
    synth.request(waiter, 90 * US, 1090 * US, nr=WRITE)
    for number, (before, task) in enumerate(pairwise(hands)):
        end = (1000 + number) * US
        reason = WaitReason.FILE_LOCK
        synth.sleep(task, 100 * US, end, waker=before, reason=reason, obj=LOCK)
    assert sum(row.dur for row in found(synth)) == 50 * US
    chains = {f"write → file_lock (backup){times}" for times in ("", " × n")}
    assert {row[3] for row in inversions(synth)} == chains


def test_what_delays_the_holder_is_still_found() -> None:
    synth = Synth(ROLES)
    holder, waiter = synth.task("client1"), synth.task("client2", target=True)
    relays, reader = synth.task("backup1"), synth.task("backup2")
    for task in (holder, relays, reader):
        synth.preempt(task, 1, 2)
    synth.request(waiter, 100 * US, 200 * US, nr=WRITE)
    lock: dict[str, Any] = {"reason": WaitReason.LOCK, "obj": LOCK}
    synth.sleep(waiter, 110 * US, 190 * US, waker=relays, **lock)
    synth.sleep(relays, 105 * US, 180 * US, waker=holder, **lock)
    synth.sleep(holder, 120 * US, 150 * US, waker=reader, reason=WaitReason.LOCK, obj=OTHER)
    assert blamed(found(synth)) == [("lock", "backup2", 30), ("lock", "backup1", 10)]


NAMES = ("client1", "client3", "backup1", "backup2")
# Steps of 10 µs: far apart, so that nothing is too short to count.
TURNS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.integers(1, 20), st.integers(1, 20)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=100, deadline=None)
@given(TURNS, st.integers(0, 60))
def test_in_a_queue_each_is_blamed_for_its_turns(
    turns: list[tuple[str, int, int]], arrival: int
) -> None:
    """A lock is had in the order of arrival; client2 comes among the others and is judged.

    Of turns before it came, that counts by which those after it are late: no more than is gone if
    the same tasks ask at the same times for a lock that backups leave alone.
    """
    synth, step = Synth(ROLES), 10 * US
    task = {name: synth.task(name) for name in NAMES}
    task["client2"] = synth.task("client2", target=True)
    for watched in task.values():
        synth.preempt(watched, 1, 2)
    lock: dict[str, Any] = {"reason": WaitReason.LOCK, "obj": LOCK}
    free, before, free_alone = 1, 0, 1
    expected: Counter[str] = Counter()
    held: list[tuple[str, int, int]] = []
    again = dict.fromkeys(task, 1)
    waits = arrival + 1
    for name, gap, hold in turns:
        # A task asks again some time after its last turn.
        asks = again[name] + gap
        if asks >= waits:
            continue  # client2 was there before
        got = max(asks, free)
        if got > asks:
            synth.sleep(task[name], asks * step, got * step, waker=before, **lock)
        held.append((name, got, got + hold))
        if "backup" not in name:
            free_alone = max(asks, free_alone) + hold
        free, before = got + hold, task[name]
        again[name] = free
    if free <= waits:
        return
    synth.request(task["client2"], waits * step, free * step + step, nr=WRITE)
    synth.sleep(task["client2"], waits * step, free * step, waker=before, **lock)
    for name, got, release in held:
        expected[name] += max(0, release - max(got, waits)) * 10
    expected = Counter({name: n for name, n in expected.items() if "backup" in name and n})
    rows: Counter[str] = Counter()
    for _, culprit, dur_us in blamed(found(synth)):
        rows[culprit] += dur_us
    gone = free - max(free_alone, waits)
    assert rows >= expected
    assert rows.total() <= max(gone * 10, expected.total())
