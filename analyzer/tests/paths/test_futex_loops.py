"""A wait that goes on ends with who is the last to wake the thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1000
BEGIN = 10_000 * US
WORD = 0x1000
OTHER_WORD = WORD + 4
"""Of the same condition variable."""


def looped(first: int, second: int, *, by: str, look_us: int = 5, works: bool = False) -> Synth:
    """The client sleeps for 100 µs, looks, and sleeps until the worker wakes it.

    The backup wakes it the first time, or a time-out does.
    """
    synth = Synth()
    client, backup = synth.task("client", target=True), synth.task("backup")
    worker = synth.task("worker")
    for task in (backup, worker):
        synth.preempt(task, 1, 2)
    synth.request(client, BEGIN, BEGIN + (310 if works else 210) * US)
    reason, again = WaitReason.FUTEX, BEGIN + (100 + look_us) * US
    waker = backup if by == "backup" else 0
    synth.sleep(client, BEGIN, BEGIN + 100 * US, waker=waker, reason=reason, obj=first)
    if works:
        synth.sleep(backup, BEGIN + 50 * US, BEGIN + 102 * US, waker=client)
    synth.sleep(client, again, again + 95 * US, waker=worker, reason=reason, obj=second)
    return synth


@pytest.mark.parametrize(
    ("first", "second", "by", "ended_by"),
    [
        (WORD, WORD, "nobody", "worker"),
        (WORD, OTHER_WORD, "backup", "worker"),
        (OTHER_WORD, WORD, "nobody", "worker"),
        (WORD, WORD, "backup", "backup"),  # a mutex that went from one owner to the next
        (WORD, WORD + 8, "backup", "backup"),
    ],
)
def test_who_wakes_it_last_ends_both(
    segments: Rows, first: int, second: int, by: str, ended_by: str
) -> None:
    assert segments(looped(first, second, by=by)) == [
        (BEGIN, 100 * US, "cpu", ended_by),
        (BEGIN + 100 * US, 5 * US, "cpu", "client"),
        (BEGIN + 105 * US, 95 * US, "cpu", "worker"),
        (BEGIN + 200 * US, 10 * US, "cpu", "client"),
    ]


def test_one_that_works_in_between_has_waited_twice(segments: Rows) -> None:
    for synth in (
        looped(WORD, OTHER_WORD, by="backup", look_us=101),
        looped(WORD, OTHER_WORD, by="backup", works=True),
    ):
        assert segments(synth)[0][3] == "backup"


def again(*, first_end_us: int, stack: tuple[str, ...] = ()) -> Synth:
    """A request until ``first_end_us``, then one that the backup ends; the first times out."""
    synth = Synth([("background", "comm:backup")])
    client, backup = synth.task("client", target=True), synth.task("backup", 80)
    synth.preempt(backup, 1, 2)
    synth.request(client, BEGIN, BEGIN + first_end_us * US)
    since = BEGIN + (first_end_us - 210) * US
    synth.sleep(client, since, since + 200 * US, reason=WaitReason.FUTEX, obj=WORD)
    now = BEGIN + (first_end_us + 20) * US
    if stack:
        synth.sleep(client, now - 5 * US, now - 2 * US, stack=stack)
    synth.request(client, now, now + 100 * US)
    synth.sleep(client, now, now + 90 * US, waker=backup, reason=WaitReason.FUTEX, obj=WORD)
    return synth


@pytest.mark.parametrize(
    ("end_us", "stack", "expected_us"),
    [
        (210, (), 290),  # a system call, and the same again
        (1000, (), 90),  # the first request was more than its wait
        (210, ("do_nanosleep",), 90),
    ],
)
def test_a_request_that_ended_has_waited(
    end_us: int, stack: tuple[str, ...], expected_us: int
) -> None:
    rows = found(again(first_end_us=end_us, stack=stack))
    assert sum(row.dur for row in rows) == expected_us * US


def test_who_had_another_name_during_a_wait_is_named_so(inversions: Rows) -> None:
    """The pool's thread becomes a backup before it wakes the client for the last time."""
    synth = Synth([("background", "comm:backup"), ("foreground", "comm:client*")])
    client, pool = synth.task("client", target=True), synth.task("client-pool", 80)
    synth.task("backup", 80, ts=BEGIN + 150 * US)
    synth.preempt(pool, 1, 2)
    synth.request(client, BEGIN, BEGIN + 310 * US)
    for since, until, waker in ((0, 100, 0), (105, 300, pool)):
        begin, end = BEGIN + since * US, BEGIN + until * US
        synth.sleep(client, begin, end, waker=waker, reason=WaitReason.FUTEX, obj=WORD)
    assert [row[:3] for row in inversions(synth)] == [("condition", "backup", 150 * US)]


def test_one_that_nobody_wakes_in_the_end_is_as_recorded(segments: Rows) -> None:
    synth = Synth()
    client = synth.task("client", target=True)
    synth.request(client, 0, 210 * US)
    for at in (0, 105 * US):
        synth.sleep(client, at, at + 95 * US, reason=WaitReason.FUTEX, obj=WORD)
    assert [row[2] for row in segments(synth)].count("unknown") == 2
