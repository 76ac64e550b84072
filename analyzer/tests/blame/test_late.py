"""A request that was held up is in the way of another one that comes later."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.candidates import KINDS
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.tests.blame.found import trace_of, verdict
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

ROLES = [("background", "comm:backup"), ("foreground", "comm:client*")]
US = 1000
RECV = ["unix_stream_read_generic"]


class World(Synth):
    """``a`` waits for the backup and then for an io of its own; ``b`` waits for ``a``."""

    def __init__(self) -> None:
        super().__init__(ROLES)
        self.a, self.b = self.task("client-a", target=True), self.task("client-b", target=True)
        self.backup, self.server = self.task("backup"), self.task("server")
        for task in (self.a, self.backup, self.server):
            self.preempt(task, 1, 2)  # they are watched

    def locked(self, who: int, begin_us: int, end_us: int, by: int) -> None:
        """A task waits for a lock that another one has."""
        begin, end = begin_us * US, end_us * US
        self.sleep(who, begin, end, waker=by, reason=WaitReason.LOCK, obj=by, owner=by)

    def reads(self, who: int, begin_us: int, end_us: int, *, sent: bool = False) -> None:
        """A task waits for a read of its own; ``sent``: after it has answered somebody."""
        begin, end = begin_us * US, end_us * US
        self.sleep(who, begin, end, io=self.io(who, begin, end, op=0), sent=sent)

    def asks(self, who: int, begin_us: int, end_us: int) -> None:
        """A client waits for the server's answer; that is a request."""
        begin, end = begin_us * US, end_us * US
        self.request(who, begin, end, nr=45)
        self.sleep(who, begin, end, waker=self.server, stack=RECV, sent=True)

    def blamed(self) -> list[tuple[str, float, float]]:
        """What ``b`` loses: kind, us, confidence."""
        trace = trace_of(self)
        rows, tid = verdict(trace), trace.tasks.tid[trace.requests.utid]
        of_b = [at for at in range(len(rows)) if tid[rows.request[at]] == self.b]
        return [
            (KINDS[rows.kind[at]], rows.dur[at] / US, round(float(rows.confidence[at]), 2))
            for at in of_b
        ]


SURE, LATE = 1.0, round(MODEL_CONFIDENCE, 2)


def test_a_wait_that_began_before_counts_as_long_as_it_was() -> None:
    """Of the 60 us of ``a``'s read, 50 are due to its wait before ``b`` came."""
    world = World()
    world.locked(world.a, 100, 200, by=world.backup)
    world.reads(world.a, 200, 260)
    world.request(world.a, 300 * US, 310 * US)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 260, by=world.a)
    assert sorted(world.blamed()) == [("lock", 50, LATE), ("lock", 50, SURE)]


@pytest.mark.parametrize(("since_us", "late_us"), [(90, 40), (145, 0)])
def test_what_a_request_has_lost_before_makes_it_late(since_us: int, late_us: int) -> None:
    """It must be in it still when ``b`` comes."""
    world = World()
    world.request(world.a, since_us * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.reads(world.a, 145, 260)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 260, by=world.a)
    assert world.blamed() == ([("lock", late_us, LATE)] if late_us else [])


@pytest.mark.parametrize(("lost_us", "late_us"), [(0, 40), (30, 10), (45, 0)])
def test_who_has_lost_time_too_would_have_come_earlier(lost_us: int, late_us: int) -> None:
    world = World()
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.reads(world.a, 145, 260)
    world.request(world.b, 95 * US, 260 * US)
    if lost_us:
        world.locked(world.b, 100, 100 + lost_us, by=world.backup)
    world.locked(world.b, 150, 260, by=world.a)
    expected = [("lock", lost_us, SURE)] if lost_us else []
    expected += [("lock", late_us, LATE)] if late_us else []
    assert sorted(world.blamed()) == sorted(expected)


@pytest.mark.parametrize(("until_us", "late_us"), [(140, 40), (180, 20)])
def test_a_server_is_late_for_the_next_client_until_it_answers_the_first(
    until_us: int, late_us: int
) -> None:
    """Then it reads for ``b``, which it would have had to do later or not at all otherwise."""
    world = World()
    world.asks(world.a, 90, 200)
    world.locked(world.server, 100, until_us, by=world.backup)
    world.reads(world.server, until_us, 200)
    world.asks(world.b, 150, 280)
    world.reads(world.server, 200, 280, sent=True)
    late = [("lock", late_us, LATE)]
    assert sorted(world.blamed()) == sorted(late + [("lock", 30, SURE)] * (until_us > 150))


def test_who_waits_for_the_culprit_itself_is_behind_nobody() -> None:
    world = World()
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 260, by=world.backup)
    assert world.blamed() == [("lock", 110, SURE)]


def test_of_waits_one_after_another_each_is_for_what_the_ones_before_have_left() -> None:
    """``a`` lost 40 us; ``b`` would have come to the second wait 30 us earlier."""
    world = World()
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.reads(world.a, 145, 260)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 180, by=world.a)
    world.locked(world.b, 181, 260, by=world.a)
    assert sorted(world.blamed()) == [("lock", 40, LATE)]
