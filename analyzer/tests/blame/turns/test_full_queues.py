"""Who waits for room in a full pipe waits for those who have kept it full until then."""

from __future__ import annotations

from typing import Any

import pytest

from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import WaitReason

MS = 1_000_000
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*"), ("background", "comm:bg")]
PIPE, OTHER = 0xFFFF800000001000, 0xFFFF800000002000
FULL, FULL_SOCKET = ["schedule", "pipe_write"], ["schedule_timeout", "unix_wait_for_peer"]
Turns = tuple[tuple[str, int], ...]


class Queue:
    """A client waits for room from 3000 to 3040 ms; the logger, who reads, rests meanwhile.

    Before that, one after another, others have waited for room for 1 ms each, and the last of them
    until ``pause_ms`` before.
    """

    def __init__(
        self,
        *turns: tuple[str, int],
        pipe: int = PIPE,
        stack: list[str] = FULL,
        reader: str | None = "logger",
        pause_ms: int = 0,
        reason: WaitReason = WaitReason.NONE,
    ) -> None:
        self.synth = synth = Synth(ROLES)
        self.client = synth.task("client", target=True)
        self.tasks = {name: synth.task(name) for name, _ in turns}
        self.log = synth.task("logger")
        readers = {"logger": self.log, "other": synth.task("other")}
        waker = readers[reader] if reader else 0
        time = 3000 - pause_ms - sum(n for _, n in turns)
        for name, n in turns:
            for _ in range(n):
                begin, end = time * MS, (time + 1) * MS
                of = self.tasks[name]
                synth.sleep(of, begin, end, waker=waker, stack=stack, obj=pipe, reason=reason)
                time += 1
        synth.request(self.client, 3000 * MS, 3040 * MS, nr=WRITE)
        of_client: dict[str, Any] = {"stack": stack, "obj": PIPE if pipe else 0, "reason": reason}
        synth.sleep(self.client, 3000 * MS, 3040 * MS, waker=self.log, **of_client)

    def rests(self) -> Synth:
        """Let the logger wait for a timer, as one that takes a message now and then."""
        self.synth.sleep(
            self.log, 3000 * MS, 3040 * MS, interrupt=True, stack=["hrtimer_nanosleep"]
        )
        return self.synth


def rows_of(rows: list[Found]) -> list[tuple[str, str, int]]:
    return [(row.kind, row.culprit, row.dur // MS) for row in rows]


def blamed(*turns: tuple[str, int], **options: Any) -> list[tuple[str, str, int]]:
    return rows_of(found(Queue(*turns, **options).rests()))


ALL = [("condition", "backup", 40)]


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        ((("backup", 9),), ALL),
        ((("backup", 6), ("client2", 4)), ALL),
        ((("backup", 6), ("bg", 2)), [("condition", "backup", 30), ("condition", "bg", 10)]),
        ((("backup", 3), ("client2", 6)), []),
        ((("backup", 3),), []),
        ((("client2", 9),), []),
        ((("sidecar", 9),), []),
        ((("sidecar", 4), ("backup", 3)), []),
        ((), []),
    ],
    ids=[
        "its only",
        "mostly its",
        "two",
        "a third",
        "too few",
        "others'",
        "of no role",
        "and more than its",
        "nobody",
    ],
)
def test_a_pipe_is_full_of_whose_messages_were_taken_from_it(
    turns: Turns, expected: list[tuple[str, str, int]]
) -> None:
    assert blamed(*turns) == expected


def test_another_pipe_is_not_this_one() -> None:
    assert blamed(("backup", 9), pipe=OTHER) == []


@pytest.mark.parametrize(
    ("reader", "expected"), [("logger", ALL), ("other", []), (None, [])], ids=str
)
def test_a_socket_is_told_by_its_reader(
    reader: str | None, expected: list[tuple[str, str, int]]
) -> None:
    """None: the waits ended with a time-out."""
    assert blamed(("backup", 9), pipe=0, stack=FULL_SOCKET, reader=reader) == expected


def test_a_lock_within_a_write_is_no_full_pipe() -> None:
    assert blamed(("backup", 9), reason=WaitReason.LOCK) == [("lock", "logger", 40)]


@pytest.mark.parametrize(("pause_ms", "expected"), [(900, ALL), (1100, [])])
def test_what_was_sent_long_ago_is_gone(
    pause_ms: int, expected: list[tuple[str, str, int]]
) -> None:
    assert blamed(("backup", 9), pause_ms=pause_ms) == expected


def test_who_waits_at_the_same_time_has_not_filled_it() -> None:
    """The logger reads nothing for long; a line of the backup is before the client's."""
    queue = Queue(("client2", 1), ("backup", 0), pause_ms=1500)
    backup = queue.tasks["backup"]
    queue.synth.sleep(backup, 2990 * MS, 3039 * MS, waker=queue.log, stack=FULL, obj=PIPE)
    assert rows_of(found(queue.rests())) == []


def test_a_writer_that_only_wakes_the_next_one_is_not_to_blame() -> None:
    """After a reader has made room for many, each writer wakes the next (fs/pipe.c:pipe_write)."""
    queue = Queue(("client2", 20), ("backup", 1))
    backup, synth = queue.tasks["backup"], queue.synth
    client = synth.task("client3", target=True)
    synth.request(client, 3010 * MS, 3050 * MS, nr=WRITE)
    synth.sleep(client, 3010 * MS, 3040 * MS, waker=backup, stack=FULL, obj=PIPE)
    synth.sleep(backup, 3005 * MS, 3040 * MS, waker=queue.log, stack=FULL, obj=PIPE)
    assert rows_of(found(queue.rests())) == []


def test_other_rules_decide_where_the_background_fills_less_than_half() -> None:
    """The logger's write is behind a copy's at the disk."""
    queue = Queue(("client2", 16), ("backup", 4))
    synth = queue.synth
    copy = synth.task("backup-copy")
    synth.io(copy, 2999 * MS, 3036 * MS, size=1 << 20)
    io = synth.io(queue.log, 3000 * MS, 3040 * MS, issued=3036 * MS)
    synth.sleep(queue.log, 3000 * MS, 3040 * MS, io=io, stack=["io_schedule"])
    assert {row[:2] for row in rows_of(found(synth))} == {("queue", "backup-copy")}


def test_room_is_told_when_a_server_has_done_a_job_that_has_no_answer() -> None:
    """A backup's message has woken the worker, who is at it until 3038 ms and then goes on."""
    synth = Synth(ROLES)
    client, backup = synth.task("client", target=True), synth.task("backup")
    worker = synth.task("worker")
    idle: dict[str, Any] = {"stack": ["pipe_read"]}
    full: dict[str, Any] = {"stack": FULL, "obj": PIPE}
    synth.sleep(backup, 2900 * MS, 2989 * MS, interrupt=True, stack=["hrtimer_nanosleep"])
    synth.sleep(backup, 2991 * MS, 3100 * MS, interrupt=True, stack=["hrtimer_nanosleep"])
    synth.sleep(worker, 2900 * MS, 2990 * MS, waker=backup, **idle)
    synth.sleep(worker, 2990 * MS, 3038 * MS, interrupt=True, stack=["hrtimer_nanosleep"])
    synth.request(client, 3000 * MS, 3040 * MS, nr=WRITE)
    synth.sleep(client, 3000 * MS, 3040 * MS, waker=worker, sent=True, **full)
    synth.sleep(worker, 3041 * MS, 3100 * MS, waker=client, **idle)
    assert rows_of(found(synth)) == [("condition", "backup", 38)]
