"""Who waits for room in a full pipe waits for those whose messages it is full of."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import WaitReason

MS = 1_000_000
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]
PIPE, OTHER = 0xFFFF800000001000, 0xFFFF800000002000
FULL, FULL_SOCKET = ["schedule", "pipe_write"], ["schedule_timeout", "unix_wait_for_peer"]


def blamed(
    *turns: tuple[str, int],
    pipe: int = PIPE,
    stack: list[str] | None = None,
    reader: str = "logger",
    reason: WaitReason = WaitReason.NONE,
) -> list[tuple[str, str, int]]:
    """A client waits for room from 1000 to 1004 ms.

    Before that, one after another, others have waited for room (name, how often), for 1 ms each;
    ``reader`` has ended these waits. The logger rests meanwhile.
    """
    stack = stack or FULL
    synth = Synth(ROLES)
    client = synth.task("client", target=True)
    tasks = {name: synth.task(name) for name, _ in turns}
    readers = {name: synth.task(name) for name in {"logger", reader}}
    time = 1000 - sum(n for _, n in turns)
    for name, n in turns:
        for _ in range(n):
            who = readers[reader]
            begin, end = time * MS, (time + 1) * MS
            synth.sleep(tasks[name], begin, end, waker=who, stack=stack, obj=pipe, reason=reason)
            time += 1
    synth.request(client, 1000 * MS, 1004 * MS, nr=WRITE)
    log, obj = readers["logger"], PIPE if pipe else 0
    synth.sleep(client, 1000 * MS, 1004 * MS, waker=log, stack=stack, obj=obj, reason=reason)
    synth.sleep(log, 1000 * MS, 1004 * MS, interrupt=True, stack=["hrtimer_nanosleep"])
    return [(row.kind, row.culprit, row.dur // MS) for row in found(synth)]


ALL = [("condition", "backup", 4)]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ([("backup", 9)], ALL),
        ([("backup", 6), ("client2", 4)], ALL),
        ([("backup", 3), ("client2", 6)], [("condition", "backup", 1)]),
        ([("backup", 1), ("client2", 20)], []),
        ([("client2", 9)], []),
        ([], []),
    ],
    ids=["its only", "mostly its", "a third", "hardly any", "others'", "nobody"],
)
def test_a_pipe_is_full_of_whose_messages_were_taken_from_it(
    turns: list[tuple[str, int]], expected: list[tuple[str, str, int]]
) -> None:
    assert blamed(*turns) == expected


def test_another_pipe_is_not_this_one() -> None:
    assert blamed(("backup", 9), pipe=OTHER) == []


@pytest.mark.parametrize(("reader", "expected"), [("logger", ALL), ("other", [])])
def test_a_socket_is_told_by_its_reader(reader: str, expected: list[tuple[str, str, int]]) -> None:
    assert blamed(("backup", 9), pipe=0, stack=FULL_SOCKET, reader=reader) == expected


def test_a_lock_within_a_write_is_no_full_pipe() -> None:
    assert blamed(("backup", 9), reason=WaitReason.LOCK) == [("lock", "logger", 4)]


def test_what_was_sent_long_ago_is_gone() -> None:
    assert blamed(("backup", 9), ("client2", 110)) == []
