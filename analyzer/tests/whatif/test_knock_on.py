"""A request that waits for another one gains by what that one was late for."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, ns, predicted, world
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
FIRST = 11
LOCK = ["down_read"]


def lock_after_lock(first: int, second: int, *, until: int = 2000, held: int = 200) -> Synth:
    """A lock is the backup's *until* 2000, then the first client's, and then the reader's.

    The clients come for it at *first* and *second*; the first one has it for *held* ns, the reader
    for 100.
    """
    synth = world()
    synth.task("reader", tid=FIRST, target=True)
    synth.sleep(FIRST, 1, 2)
    end = until + held
    synth.request(FIRST, first - 10, end + 10, nr=READ)
    synth.sleep(FIRST, first, until, waker=BACKUP, stack=LOCK)
    synth.request(READER, second - 10, end + 100, nr=READ)
    synth.sleep(READER, second, end, waker=FIRST, stack=LOCK)
    return synth


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        (1000, 1500, 0),  # the first one is done at 1200
        (1400, 1500, 100),  # it has the lock from 1400 to 1600
        (1500, 1500, 200),
        (1299, 1500, 0),
        (1301, 1500, 1),
    ],
)
def test_what_is_left_of_a_wait_for_one_that_waited_for_the_culprit(
    load: Load, first: int, second: int, left: int
) -> None:
    store = load(lock_after_lock(first, second))
    before = predicted(store, "other").predicted_ns
    assert ns(before) == [2210 - first + 10, 2300 - second + 10]
    after = ns(predicted(store, "backup").predicted_ns)
    assert after == [10 + 210, 10 + left + 100]


def test_who_came_first_does_not_become_slower(load: Load) -> None:
    """It still waits for what the other one did from 1500 on, and then with the lock."""
    after = predicted(load(lock_after_lock(1600, 1500)), "backup").predicted_ns
    assert ns(after) == [10 + 100 + 200 + 100, 10 + 210]


def test_a_chain_of_clients(load: Load) -> None:
    """Each gains by what the one before it gains: they would not have met."""
    synth, clients = world(), [READER, 11, 12, 13]
    for tid in clients[1:]:
        synth.task("reader", tid=tid, target=True)
        synth.sleep(tid, 1, 2)
    free, holder = 5000, BACKUP
    for number, tid in enumerate(clients):
        begin = 1000 + 1000 * number
        synth.request(tid, begin - 10, free + 110, nr=READ)
        synth.sleep(tid, begin, free, waker=holder, stack=LOCK)
        free, holder = free + 100, tid
    after = ns(predicted(load(synth), "backup").predicted_ns)
    assert after == [10 + 110] * 4


def late_for_the_one_before(pause: int) -> Synth:
    """The first client's read ends late for the backup; *pause* ns later it takes a lock."""
    synth = world()
    synth.task("reader", tid=FIRST, target=True)
    synth.sleep(FIRST, 1, 2)
    synth.request(FIRST, 1000, 4000, nr=READ)
    synth.sleep(FIRST, 1010, 3990, waker=BACKUP, stack=LOCK)
    begin = 4000 + pause
    synth.request(FIRST, begin, begin + 500, nr=READ)
    synth.request(READER, begin + 100, begin + 600, nr=READ)
    synth.sleep(READER, begin + 110, begin + 500, waker=FIRST, stack=LOCK)
    return synth


@pytest.mark.parametrize(
    ("arrivals", "pause", "left"),
    [("open", 10, 110), ("open", 200_000, 500), ("closed", 10, 500)],
)
def test_with_a_schedule_one_is_late_for_what_went_before(
    load: Load, arrivals: Arrivals, pause: int, left: int
) -> None:
    """After a pause it is not: it may have waited for the time that it was due."""
    store = load(late_for_the_one_before(pause))
    assert ns(predicted(store, "backup", arrivals=arrivals).predicted_ns)[2] == left


def test_a_client_that_waited_for_nobody_stays_in_the_way(load: Load) -> None:
    synth = world()
    synth.task("reader", tid=FIRST, target=True)
    synth.sleep(FIRST, 1, 2)
    synth.request(FIRST, 1000, 2000, nr=READ)
    synth.request(READER, 1500, 2100, nr=READ)
    synth.sleep(READER, 1510, 2000, waker=FIRST, stack=LOCK)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [1000, 600]
