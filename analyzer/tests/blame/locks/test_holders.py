"""A lock that several had: others may have kept the waiter as long as the one that is seen."""

from __future__ import annotations

from typing import Any

import pytest

from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import LockType, WaitReason

US = 1000
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]


@pytest.mark.parametrize(
    ("shared", "alone", "waits_to", "sure"),
    [
        (False, False, None, 1.0),
        (True, False, None, GUESS_CONFIDENCE),
        (True, True, None, 1.0),
        (True, False, LockType.RWSEM_WRITE, 1.0),
        (True, True, LockType.RWSEM_READ, GUESS_CONFIDENCE),
    ],
)
def test_who_left_a_lock_last_may_have_been_one_of_several(
    shared: bool, alone: bool, waits_to: LockType | None, sure: float
) -> None:
    """The kernel names no owner of a lock that readers have, but the last one to take it.

    It counts them; and who has waited to write has had the lock alone since. Who has waited to read
    has come to it later, perhaps with others.
    """
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 100 * US, 200 * US)
    begin, end, stack = 110 * US, 190 * US, ["rwsem_down_write_slowpath"]
    lock = WaitReason.LOCK
    has: dict[str, Any] = {"obj": 7, "owner": bg, "guessed": shared, "one_reader": alone}
    synth.sleep(fg, begin, end, waker=bg, stack=stack, reason=lock, **has)
    if waits_to is not None:
        synth.lock_wait(bg, 105 * US, 120 * US, lock=7, kind=waits_to)
    (row,) = found(synth)
    assert row[:4] == ("lock", "backup", 80 * US, sure)


@pytest.mark.parametrize(
    ("gap_us", "has_waited", "sure"),
    [(5, False, GUESS_CONFIDENCE), (5, True, 1.0), (500, False, 1.0)],
)
def test_who_has_a_files_lock_next_had_it_all_the_time(
    gap_us: int, has_waited: bool, sure: float
) -> None:
    """Unless it has waited for it too, or the first one's request was over before."""
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    other = synth.task("writer-2")
    synth.request(fg, 100 * US, 2000 * US)

    def waits(who: int, begin_us: int, end_us: int, waker: int) -> None:
        begin, end, reason = begin_us * US, end_us * US, WaitReason.FILE_LOCK
        synth.sleep(who, begin, end, waker=waker, reason=reason, obj=5, ino=5)

    waits(fg, 110, 190, bg)
    waits(fg, 190 + gap_us, 900, other)
    if has_waited:
        waits(other, 120, 185, bg)
    (row,) = found(synth)
    assert row[:4] == ("lock", "backup", 80 * US, sure)
