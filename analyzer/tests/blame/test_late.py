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
    late = [("condition", late_us, LATE)]
    assert sorted(world.blamed()) == sorted(late + [("lock", 30, SURE)] * (until_us > 150))


def test_who_waits_for_the_culprit_itself_is_behind_nobody() -> None:
    world = World()
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 260, by=world.backup)
    assert world.blamed() == [("lock", 110, SURE)]


def test_who_has_let_others_go_on_is_not_late_any_more() -> None:
    """``a`` lost 40 us, of which ``b`` would have had 30 in its first wait for it."""
    world = World()
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.reads(world.a, 145, 260)
    world.request(world.b, 150 * US, 260 * US)
    world.locked(world.b, 150, 180, by=world.a)
    world.locked(world.b, 181, 260, by=world.a)
    assert sorted(world.blamed()) == [("lock", 30, LATE)]


def test_a_long_request_is_late_only_once() -> None:
    """``a`` lost 40 us at first; then it has the lock for 50 us of each 1000."""
    world = World()
    world.request(world.a, 90 * US, 9_000 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.request(world.b, 1_000 * US, 8_900 * US)
    for begin in range(1_005, 8_005, 1_000):
        world.locked(world.b, begin, begin + 45, by=world.a)
    assert sum(us for _, us, _ in world.blamed()) == 40


def test_who_has_waited_for_another_one_since_is_not_late_for_what_was_before() -> None:
    """``a`` lost 40 us until 140, and then it waits for ``c``, which is not late, until 200."""
    world = World()
    other = world.task("client-c")
    world.preempt(other, 1, 2)
    world.request(world.a, 90 * US, 270 * US)
    world.locked(world.a, 100, 140, by=world.backup)
    world.locked(world.a, 145, 200, by=other)
    world.reads(world.a, 201, 260)
    world.request(world.b, 210 * US, 260 * US)
    world.locked(world.b, 210, 260, by=world.a)
    assert world.blamed() == []


def test_of_an_io_only_the_end_may_be_to_blame() -> None:
    """Three reads took 100 us; this one takes 200, beside the backup's, and ``b`` sees the end."""
    world = World()
    for begin in (1_000, 2_000, 3_000):
        world.reads(world.a, begin, begin + 100)
    begin, end = 5_000 * US, 5_200 * US
    world.io(world.backup, begin - US, end + US, op=0, size=1 << 20)
    world.sleep(world.a, begin, end, io=world.io(world.a, begin, end, op=0))
    world.request(world.b, end - 50 * US, end + 200 * US)
    world.locked(world.b, 5_150, 5_390, by=world.a)
    assert [kind for kind, _, _ in world.blamed()] == ["device"]


@pytest.mark.parametrize(("n", "late_us"), [(1, 390), (200, 0)])
def test_all_that_the_waiter_has_lost_itself_counts(n: int, late_us: int) -> None:
    """``a`` lost 400 us; ``b`` has lost 10 us so often."""
    world = World()
    world.request(world.a, 90 * US, 9_000 * US)
    world.locked(world.a, 100, 500, by=world.backup)
    world.request(world.b, 600 * US, 8_900 * US)
    for k in range(n):
        world.locked(world.b, 700 + 20 * k, 710 + 20 * k, by=world.backup)
    world.locked(world.b, 8_000, 8_500, by=world.a)
    late = [us for _, us, sure in world.blamed() if sure == LATE]
    assert late == ([late_us] if late_us else [])
