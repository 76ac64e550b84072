"""A server that is at a background client's job when the request comes finishes that first."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE, GUESS_CONFIDENCE
from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
PIPE = ["pipe_read"]
FUTEX = ["futex_wait_queue", "futex_wait"]
"""Without the probe that tells its address."""


class Server(Synth):
    """A server that waits for jobs until 10 ms, and again from 60 ms on; its io takes 12 to 50 ms.

    The request of ``fg`` is from 20 to 58 ms, and all of it is a wait for the server.
    """

    def __init__(self, first: str = "bg", *, stack: list[str] | None = None) -> None:
        super().__init__(ROLES)
        self.stack = PIPE if stack is None else stack
        self.fg, self.bg = self.task("fg"), self.task("bg")
        # Who ends a wait in a futex is no peer, so a task without a role would be to blame.
        self.server = self.task("fg-server" if self.stack in ([], FUTEX) else "server")
        self.others = {"fg": self.fg, "bg": self.bg, "fg-2": self.task("fg-2")}
        # What it is given later, and by whom, does not matter, but that it is not the last asked.
        self.waits(self.server, 1, 10, self.others[first])
        self.waits(self.server, 60, 90, self.fg)
        self.request(self.fg, 20 * MS, 58 * MS, nr=0)
        self.waits(self.fg, 20, 58, self.server)
        io = self.io(self.server, 12 * MS, 50 * MS)
        self.sleep(self.server, 12 * MS, 50 * MS, io=io)

    def waits(self, who: int, begin_ms: int, end_ms: int, waker: int) -> None:
        """A task waits for a message, or in a futex, that another one ends."""
        reason = WaitReason.NONE if self.stack else WaitReason.FUTEX
        begin, end, obj = begin_ms * MS, end_ms * MS, 0 if self.stack else 1000 + who
        self.sleep(who, begin, end, waker=waker, stack=self.stack, reason=reason, obj=obj)

    def blamed(self) -> list[tuple[str, str, float]]:
        return [(row.kind, row.culprit, row.dur / MS) for row in found(self)]


@pytest.mark.parametrize(
    "stack", [PIPE, ["unix_stream_read_generic"], ["ep_poll"], ["eventfd_read"], []]
)
def test_until_it_answers_the_background_it_works_for_that(stack: list[str]) -> None:
    server = Server(stack=stack)
    server.waits(server.bg, 11, 55, server.server)
    (row,) = found(server)
    assert row[:4] == ("condition", "bg", 35 * MS, GUESS_CONFIDENCE)


def test_who_waits_for_a_fuse_server_has_asked_it() -> None:
    """So its answers are known without messages."""
    server = Server(stack=["request_wait_answer", "__fuse_simple_request"])
    server.waits(server.bg, 11, 55, server.server)
    (row,) = found(server)
    assert row[:3] == ("condition", "bg", 35 * MS)
    assert row.confidence == pytest.approx(ANSWER_CONFIDENCE, abs=0.01)


def test_who_gave_it_the_job_need_not_wait_for_the_answer() -> None:
    assert Server().blamed() == [("condition", "bg", 30)]


def test_but_a_futex_alone_is_no_job() -> None:
    assert Server(stack=[]).blamed() == []


def test_a_server_that_the_request_itself_has_woken_has_nothing_else_to_do() -> None:
    server = Server("fg")
    server.waits(server.bg, 11, 55, server.server)
    assert server.blamed() == []


def test_who_waits_while_the_server_is_idle_and_never_asks_is_only_told_what_it_does() -> None:
    server = Server("fg-2")
    server.waits(server.bg, 11, 55, server.server)
    server.waits(server.bg, 56, 95, server.server)
    assert server.blamed() == []


def test_who_waited_while_the_server_was_idle_had_no_job_there() -> None:
    """A replica: it wakes the server now and then, too."""
    server = Server("fg-2")
    server.waits(server.server, 95, 96, server.bg)
    server.waits(server.bg, 9, 55, server.server)
    assert server.blamed() == []


def test_a_job_begins_after_what_the_server_slept_for_when_it_was_asked() -> None:
    server = Server("fg-2")
    server.waits(server.bg, 15, 55, server.server)
    assert server.blamed() == [("condition", "bg", 5)]


def test_of_answers_one_after_another_the_work_may_be_for_who_asked_first() -> None:
    server = Server("fg-2")
    server.waits(server.bg, 13, 55, server.server)
    server.waits(server.others["fg-2"], 11, 56, server.server)
    assert server.blamed() == []


def test_a_message_sent_before_is_not_what_the_request_waits_for() -> None:
    """The client had a pause since then."""
    server = Server("fg")
    server.sleep(server.fg, 11 * MS, 19 * MS, stack=["hrtimer_nanosleep"])
    server.waits(server.bg, 11, 55, server.server)
    assert server.blamed() == [("condition", "bg", 35)]


def test_whoever_the_server_answers_next_may_have_had_the_work_done() -> None:
    """The message that woke it was no more than a sign of life."""
    server = Server()
    server.waits(server.others["fg-2"], 11, 55, server.server)
    assert server.blamed() == []


def test_a_thread_that_waits_on_the_same_futex_hands_a_lock_on() -> None:
    server = Server(stack=[])
    word = 5000
    for who, begin, end, by in ((server.bg, 11, 55, server.server), (server.server, 91, 99, 1)):
        server.sleep(who, begin * MS, end * MS, waker=by, reason=WaitReason.FUTEX, obj=word)
    assert server.blamed() == []


def test_a_futex_without_an_address_may_be_a_lock() -> None:
    server = Server(stack=FUTEX)
    server.waits(server.bg, 11, 55, server.server)
    assert server.blamed() == []


@pytest.mark.parametrize("gap_us", [20, 40])
def test_a_sender_that_is_woken_when_its_message_is_taken_has_no_answer_yet(gap_us: int) -> None:
    """It looks, and sleeps again at once; a pause is between two waits."""
    server = Server(stack=["unix_stream_read_generic"])
    taken = 11 * MS + 500_000
    server.sleep(server.bg, 11 * MS, taken, waker=server.server, stack=server.stack)
    again = taken + gap_us * 1000
    server.sleep(server.bg, again, 95 * MS, waker=server.server, stack=server.stack)
    assert server.blamed() == ([("condition", "bg", 30)] if gap_us == 20 else [])


@pytest.mark.parametrize("by_other", [True, False])
def test_but_it_has_where_it_waits_for_another_one_next_or_asks_again(by_other: bool) -> None:
    server = Server(stack=["unix_stream_read_generic"])
    server.waits(server.bg, 11, 55, server.server)
    ends = server.task("other") if by_other else server.server
    if not by_other:
        asked = server.task("other")
        server.sleep(asked, 0, 55 * MS + 10_000, waker=server.bg, stack=server.stack)
    server.sleep(server.bg, 55 * MS + 20_000, 80 * MS, waker=ends, stack=server.stack)
    assert server.blamed() == [("condition", "bg", 35)]


def test_who_gave_the_job_may_wait_for_the_answer_later() -> None:
    server = Server()
    server.waits(server.bg, 45, 55, server.server)
    assert server.blamed() == [("condition", "bg", 35)]


def test_a_server_that_sleeps_after_an_answer_is_at_another_job() -> None:
    server = Server("fg-2")
    server.waits(server.bg, 13, 51, server.server)
    io = server.io(server.server, 52 * MS, 54 * MS)
    server.sleep(server.server, 52 * MS, 54 * MS, io=io)
    server.waits(server.others["fg-2"], 11, 56, server.server)
    assert server.blamed() == [("condition", "bg", 1)]


def test_the_reply_to_a_question_of_the_server_is_no_job() -> None:
    """It asks the background before it waits, and that wakes it."""
    server = Server()
    server.sleep(server.bg, 0, 1 * MS, waker=server.server, stack=PIPE)
    assert server.blamed() == []


def test_jobs_are_of_the_name_that_a_client_had() -> None:
    server = Server()
    server.waits(server.bg, 11, 55, server.server)
    server.task("bg-later", server.bg, ts=57 * MS)
    server.waits(server.bg, 58, 95, server.server)
    assert server.blamed() == [("condition", "bg", 35)]


def test_the_job_of_another_one_before_is_not_the_backgrounds() -> None:
    server = Server("fg-2")
    server.waits(server.others["fg-2"], 11, 40, server.server)
    server.waits(server.bg, 11, 55, server.server)
    server.waits(server.server, 95, 96, server.bg)
    assert server.blamed() == [("condition", "bg", 15)]


def test_of_a_futex_only_who_began_the_work_is_a_client() -> None:
    """Others may have waited for a lock, and got it."""
    server = Server("fg-2", stack=[])
    server.waits(server.bg, 11, 55, server.server)
    server.waits(server.server, 95, 96, server.bg)
    assert server.blamed() == []


def test_whose_reply_the_server_waits_for_is_asked_itself() -> None:
    """It is to blame for its own time, but not for what the server did before."""
    synth = Synth(ROLES)
    fg, other, helper, server = (synth.task(name) for name in ("fg", "fg-2", "bg", "server"))
    synth.sleep(server, 0, 10 * MS, waker=other, stack=PIPE)
    synth.request(fg, 20 * MS, 90 * MS, nr=0)
    synth.sleep(fg, 20 * MS, 90 * MS, waker=server, stack=PIPE)
    synth.sleep(helper, 11 * MS, 40 * MS, waker=server, stack=PIPE)
    synth.sleep(server, 40 * MS, 70 * MS, waker=helper, stack=PIPE)
    rows: list[Found] = found(synth)
    assert [(row.culprit, row.dur) for row in rows] == [("bg", 30 * MS)]
