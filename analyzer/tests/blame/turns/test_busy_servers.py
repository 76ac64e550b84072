"""Servers that always have something to do: who has sent them a message waits for its turn."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
RECV = ["unix_stream_read_generic"]
POLL = ["do_select"]


class Busy(Synth):
    """A server answers ``bg`` at 50 ms and ``fg`` at 58, whose request of 20 ms waits for it.

    It is never without a job, and sleeps for ios from 12 to 18 ms and from 22 to 45. It has
    answered others before.
    """

    def __init__(self, *, io_until_ms: int = 45, sent: bool = True) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.server = self.task("fg"), self.task("bg"), self.task("server")
        self.request(self.fg, 20 * MS, 58 * MS, nr=0)
        self.waits(self.fg, 20, 58, self.server, sent=sent)
        for begin, end in ((12, 18), (22, io_until_ms)):
            io = self.io(self.server, begin * MS, end * MS)
            self.sleep(self.server, begin * MS, end * MS, io=io, sent=sent)

    def waits(
        self,
        who: int,
        begin_ms: float,
        end_ms: float,
        waker: int,
        *,
        sent: bool = True,
        received: int = 0,
    ) -> None:
        """A task waits for a message of another one, by default after it has sent one."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=RECV, sent=sent, received=received)

    def blamed(self) -> list[tuple[str, str, float]]:
        return [(row.kind, row.culprit, row.dur / MS) for row in found(self)]


def test_until_it_answers_the_background_it_works_for_that() -> None:
    server = Busy()
    server.waits(server.bg, 11, 50, server.server)
    (row,) = found(server)
    assert row[:4] == ("condition", "bg", 30 * MS, ANSWER_CONFIDENCE)


def test_who_has_sent_nothing_is_only_told_what_it_does() -> None:
    server = Busy()
    server.waits(server.bg, 11, 50, server.server, sent=False)
    assert server.blamed() == []


def test_the_second_of_two_answers_was_asked_for_with_the_first() -> None:
    server = Busy()
    server.waits(server.bg, 11, 19, server.server)
    server.waits(server.bg, 19.02, 50, server.server, sent=False, received=1)
    (row,) = found(server)
    assert row[:4] == ("condition", "bg", 30 * MS, ANSWER_CONFIDENCE)


def test_where_no_message_is_recorded_it_may_be_no_server() -> None:
    server = Busy(sent=False)
    server.waits(server.bg, 11, 50, server.server, sent=False)
    assert server.blamed() == []


def test_each_job_is_a_wait_of_its_own() -> None:
    """It has its answer at 30 ms, and 20 µs later it waits for the next one."""
    server = Busy(io_until_ms=29)
    server.waits(server.bg, 11, 30, server.server)
    server.waits(server.bg, 30.02, 95, server.server)
    assert server.blamed() == [("condition", "bg", 10)]


def test_it_does_not_listen_while_it_sleeps_for_a_job() -> None:
    """It waits with a timeout, in a call that messages end too."""
    server = Busy(io_until_ms=25)
    server.waits(server.bg, 11, 50, server.server)
    server.sleep(server.server, 30 * MS, 48 * MS, stack=POLL)
    assert server.blamed() == [("condition", "bg", 30)]


def test_nor_does_it_while_it_waits_for_a_server_of_its_own() -> None:
    """The request comes while that works, and does not wake it."""
    server = Busy(io_until_ms=24)
    server.waits(server.bg, 11, 50, server.server)
    server.waits(server.server, 18.5, 21.5, server.task("database"))
    assert server.blamed() == [("condition", "bg", 30)]


def test_a_server_that_was_idle_works_for_who_has_woken_it() -> None:
    """A replica tells it how far it is, and waits for more; then comes the request."""
    server = Busy()
    server.waits(server.bg, 11, 50, server.server)
    server.waits(server.server, 19, 20, server.fg)
    assert server.blamed() == []


def test_who_was_told_while_the_server_was_idle_is_told_again() -> None:
    """A process that ships a log asks others, but waits for news of this one, idle or not."""
    server = Busy()
    server.waits(server.bg, 1, 6, server.server)
    server.waits(server.server, 2, 5, server.fg)
    server.waits(server.bg, 21, 50, server.server)
    assert server.blamed() == []


def test_a_worker_that_sends_no_messages_has_no_such_jobs() -> None:
    """It tells who waits for it by a message of another thread how far it is."""
    server = Busy(sent=False)
    server.waits(server.bg, 11, 50, server.server)
    assert server.blamed() == []


def test_nor_has_one_that_is_waited_for_on_a_futex() -> None:
    server, word = Busy(), 5000
    server.waits(server.bg, 11, 50, server.server)
    fg = server.task("fg-2")
    server.request(fg, 20 * MS, 58 * MS, nr=202)
    server.sleep(
        fg, 20 * MS, 57 * MS, waker=server.server, reason=WaitReason.FUTEX, obj=word, sent=True
    )
    assert [row[2] for row in server.blamed() if row[0] == "condition"].count(30) == 1


@pytest.mark.parametrize(("sent", "ms"), [(True, 10.9), (False, 0)])
def test_the_cpu_that_it_takes_for_a_job_is_the_clients(sent: bool, ms: float) -> None:
    """It gets the CPU again at 59 ms, and works until 70 for who asked before."""
    server = Busy()
    asked, answered, by = 11 * MS, round(69.9 * MS), server.server
    server.sleep(server.bg, asked, answered, waker=by, stack=RECV, sent=sent, cpu=1)
    server.preempt(server.server, 58 * MS, 59 * MS)
    server.waits(server.server, 70, 80, server.fg)
    fg = server.task("fg-2")
    server.request(fg, 57 * MS, 71 * MS, nr=0)
    server.sleep(fg, 57 * MS, 58 * MS, 70 * MS, waker=server.server, stack=RECV, sent=True)
    blamed = [row for row in server.blamed() if row[0] == "cpu"]
    assert blamed == ([("cpu", "bg", ms)] if sent else [])
