"""A server takes messages of several clients, works for all of them, and answers all."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE, GUESS_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
RECV = ["unix_stream_read_generic"]


class Round(Synth):
    """``bg`` asks at 12 ms and ``fg`` at 20, whose request lasts until it has its answer.

    The server takes a message before each of its ios, from 13 to 21 ms and from 22 to 49. It has
    answered both before.
    """

    def __init__(
        self,
        *,
        bg_ms: float = 50,
        fg_ms: float = 50.1,
        received: tuple[int, int] = (1, 1),
        between: bool = False,
    ) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.server = self.task("fg"), self.task("bg"), self.task("server")
        for client, begin in ((self.bg, 1), (self.fg, 3)):
            self.waits(self.server, begin, begin + 1, client)
            self.waits(client, begin + 1.1, begin + 1.5, self.server)
        self.waits(self.server, 5, 12, self.bg)
        self.waits(self.bg, 12.1, bg_ms, self.server)
        self.request(self.fg, 20 * MS, round(fg_ms * MS), nr=0)
        self.waits(self.fg, 20, fg_ms, self.server)
        for begin, end, n in ((13, 21, received[0]), (22, 49, received[1])):
            self.works(begin, end, n)
        last = max(bg_ms, fg_ms) + 0.1
        begin, end = round(last * MS), 95 * MS
        self.sleep(self.server, begin, end, waker=self.bg, stack=RECV, sent=True, between=between)

    def waits(self, who: int, begin_ms: float, end_ms: float, waker: int) -> None:
        """A task waits for a message of another one, after it has sent one."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=RECV, sent=True)

    def works(self, begin_ms: float, end_ms: float, received: int = 0) -> None:
        """The server waits for an io of its own."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        io = self.io(self.server, begin, end)
        self.sleep(self.server, begin, end, io=io, received=received)

    def blamed(self) -> list[tuple[str, float, float]]:
        rows = found(self)
        assert all(row.kind == "condition" for row in rows)
        return [(r.culprit, round(r.dur / MS, 2), round(r.confidence, 2)) for r in rows]


SURE = [("bg", 30, round(ANSWER_CONFIDENCE, 2))]


@pytest.mark.parametrize(("bg_ms", "fg_ms"), [(50, 50.1), (50.1, 50)])
def test_half_of_what_is_done_for_two_may_be_the_backgrounds(bg_ms: float, fg_ms: float) -> None:
    """Whoever is answered first."""
    half_ms = round((fg_ms - 20) / 2, 2)
    server = Round(bg_ms=bg_ms, fg_ms=fg_ms)
    assert server.blamed() == [("bg", half_ms, GUESS_CONFIDENCE)]


def test_two_of_three_have_two_thirds() -> None:
    server = Round()
    other = server.task("bg-2")
    server.waits(other, 14, 50.05, server.server)
    assert server.blamed() == [("bg", 20.07, GUESS_CONFIDENCE)]


@pytest.mark.parametrize("received", [(1, 0), (0, 1), (0, 0)])
def test_who_has_taken_one_message_works_for_one(received: tuple[int, int]) -> None:
    assert Round(received=received).blamed() == SURE


def test_several_taken_at_once_are_several() -> None:
    (row,) = Round(received=(0, 2)).blamed()
    assert row[-1] == GUESS_CONFIDENCE


def test_a_message_taken_between_two_answers_is_another_job() -> None:
    assert Round(between=True).blamed() == SURE


def test_so_is_what_takes_long_after_the_first_answer() -> None:
    assert Round(fg_ms=70).blamed() == SURE


def test_so_is_an_io_after_the_first_answer() -> None:
    server = Round(fg_ms=51)
    server.works(50.2, 50.8)
    assert server.blamed() == SURE


def test_what_a_server_does_for_two_of_the_background_is_theirs() -> None:
    """A request that waits for its turn meanwhile."""
    server = Round(fg_ms=70)
    other = server.task("bg-2")
    server.waits(other, 14, 50.05, server.server)
    server.works(51, 69)
    assert sum(row[1] for row in server.blamed()) == pytest.approx(30, abs=0.1)
    assert all(row[2:] == SURE[0][2:] for row in server.blamed())
