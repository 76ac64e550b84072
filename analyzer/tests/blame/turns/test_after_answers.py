"""A server answers at once and does the job then: until it takes another message, or rests."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000
RECV = ["unix_stream_read_generic"]


class Early(Synth):
    """``bg`` asks at 12 ms and has its answer at 13; then the server has ios until 50.

    ``fg`` asks at 20 ms and has its answer at 60, after an io of its own. The server takes its
    message before that io, or before an earlier one.
    """

    def __init__(self, *, taken_ms: int = 51, rests: bool = False, takes: bool = True) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.server = self.task("fg"), self.task("bg"), self.task("server")
        for client, begin in ((self.bg, 1), (self.fg, 3)):
            self.waits(self.server, begin, begin + 1, client)
            self.waits(client, begin + 1.1, begin + 1.5, self.server)
        self.waits(self.server, 5, 12, self.bg)
        self.waits(self.bg, 12.1, 13, self.server)
        self.request(self.fg, 20 * MS, 60 * MS, nr=0)
        self.waits(self.fg, 20, 60, self.server)
        for begin, end in ((14, 30), (31, 50), (51, 59)):
            received = int(begin >= taken_ms) if takes else 0
            self.works(begin, end, received, sent=begin == 14)
            taken_ms = taken_ms if begin < taken_ms else 100
        if rests:
            self.sleep(self.server, round(30.1 * MS), round(30.9 * MS), stack=["hrtimer_nanosleep"])
        self.waits(self.server, 60.1, 95, self.bg)

    def waits(self, who: int, begin_ms: float, end_ms: float, waker: int) -> None:
        """A task waits for a message of another one, after it has sent one."""
        begin, end = round(begin_ms * MS), round(end_ms * MS)
        self.sleep(who, begin, end, waker=waker, stack=RECV, sent=True)

    def works(self, begin_ms: int, end_ms: int, received: int, *, sent: bool) -> None:
        """The server waits for an io of its own."""
        begin, end = begin_ms * MS, end_ms * MS
        io = self.io(self.server, begin, end)
        self.sleep(self.server, begin, end, io=io, received=received, sent=sent)

    def blamed(self) -> list[tuple[str, float, float]]:
        return [(r.culprit, r.dur / MS, r.confidence) for r in found(self)]


@pytest.mark.parametrize(
    ("taken_ms", "rests", "until_ms"),
    [(51, False, 50), (31, False, 30), (51, True, 30.1)],
    ids=["until it takes the next", "an earlier one", "or rests"],
)
def test_what_it_does_after_an_answer_is_for_whom_it_has_answered(
    taken_ms: int, rests: bool, until_ms: float
) -> None:
    ((culprit, dur_ms, confidence),) = Early(taken_ms=taken_ms, rests=rests).blamed()
    assert culprit == "bg"
    assert dur_ms == pytest.approx(until_ms - 20)
    assert confidence == pytest.approx(ANSWER_CONFIDENCE)


def test_who_takes_the_next_message_at_once_has_no_more_to_do() -> None:
    assert Early(taken_ms=14).blamed() == []


def test_where_no_messages_are_recorded_nothing_is_said() -> None:
    assert Early(takes=False).blamed() == []
