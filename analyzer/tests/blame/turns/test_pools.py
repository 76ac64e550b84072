"""A pool of two servers, one of which is at a background job while the other does all the rest."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
RECV = ["unix_stream_read_generic"]


class Pool(Synth):
    """``one`` works for ``bg`` from 10 ms to 60, ``two`` for ``fg-2`` to 40 and for ``fg`` to 58.

    Before that, ``one`` has answered ``fg``, if it *knows* it. The request of ``fg`` is from 20 ms
    to 58. Both are idle at first.
    """

    def __init__(self, *, knows: bool = True, one: tuple[str, int] = ("server", 50)) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.other = self.task("fg"), self.task("bg"), self.task("fg-2")
        self.one, self.two = self.task(one[0], pid=one[1]), self.task("server", pid=50)
        first = self.fg if knows else self.other
        self.waits(self.one, 1, 2, first)
        self.waits(first, 2.1, 4, self.one)
        self.waits(self.two, 1, 5, self.fg)
        self.waits(self.fg, 5.1, 7, self.two)
        self.waits(self.two, 7.1, 11, self.other)
        self.waits(self.other, 11.1, 40, self.two)
        self.waits(self.fg, 20, 58, self.two)
        self.waits(self.two, 58.1, 90, self.other)
        self.request(self.fg, 20 * MS, 58 * MS, nr=45)
        self.works(self.two, 12, 39)
        self.works(self.two, 41, 57)

    def waits(self, who: int, begin_ms: float, end_ms: float, waker: int) -> None:
        """A task waits for a message of another one, after it has sent one."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=RECV, sent=True)

    def works(self, who: int, begin_ms: int, end_ms: int) -> None:
        """A server waits for an io of its own."""
        begin, end = begin_ms * MS, end_ms * MS
        self.sleep(who, begin, end, io=self.io(who, begin, end))

    def background_job(self, begin_ms: float, end_ms: float) -> None:
        """The first server is idle until a job of the background begins, and after it."""
        self.waits(self.one, 4.1, begin_ms, self.bg)
        self.waits(self.bg, begin_ms + 0.1, end_ms, self.one)
        self.waits(self.one, end_ms + 0.1, 95, self.other)

    def blamed(self) -> list[tuple[str, str, float]]:
        return [(row.kind, row.culprit, row.dur / MS) for row in found(self)]


def test_a_server_at_a_background_job_would_have_taken_the_message() -> None:
    """Until the other one has time for it."""
    pool = Pool()
    pool.background_job(10, 60)
    (row,) = found(pool)
    assert row[:3] == ("condition", "bg", 20 * MS)
    assert row.confidence == pytest.approx(ANSWER_CONFIDENCE)


def test_not_if_it_is_never_given_messages_of_this_client() -> None:
    pool = Pool(knows=False)
    pool.background_job(10, 60)
    assert pool.blamed() == []


@pytest.mark.parametrize(("begin", "end"), [(10, 30), (30, 60)])
def test_nor_if_it_is_idle_while_the_message_waits(begin: int, end: int) -> None:
    """So it does not take messages from that queue."""
    pool = Pool()
    pool.background_job(begin, end)
    assert pool.blamed() == []


def test_of_two_that_the_background_has_one_would_have_been_enough() -> None:
    """The third server is at a job for another background client from 10 ms to 45."""
    pool = Pool()
    three, other = pool.task("server", pid=50), pool.task("bg-2")
    pool.waits(three, 1, 3, pool.fg)
    pool.waits(pool.fg, 4.1, 5, three)
    pool.waits(three, 5.1, 10, other)
    pool.waits(other, 10.1, 45, three)
    pool.works(three, 46, 70)
    pool.waits(three, 71, 90, other)
    pool.background_job(10, 60)
    assert sorted(pool.blamed()) == [("condition", "bg", 10), ("condition", "bg-2", 10)]


def test_another_service_that_the_client_asks_is_none_of_the_pool() -> None:
    pool = Pool(one=("cache", 51))
    pool.background_job(10, 60)
    assert pool.blamed() == []


def test_who_takes_another_message_first_does_not_share_the_queue() -> None:
    """At 30 ms it takes one of the background's at once."""
    pool = Pool()
    pool.waits(pool.one, 4.1, 10, pool.bg)
    pool.waits(pool.bg, 10.1, 30, pool.one)
    pool.waits(pool.one, 30.01, 30.02, pool.bg)
    pool.waits(pool.bg, 30.03, 60, pool.one)
    pool.waits(pool.one, 60.1, 95, pool.other)
    assert pool.blamed() == []
