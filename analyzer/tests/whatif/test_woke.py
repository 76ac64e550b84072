"""Who need not wait need not be woken: the waker's own CPU time shrinks by what that takes."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, READER, ns, predicted, world
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
US = 1000
CLIENT = 50


def reads(n_quiet: int, n_waking: int, woken: int) -> Synth:
    """Reads of 10 us, and then of 14 us that wake ``woken``, which has waited for 100 us."""
    synth = world()
    if woken == CLIENT:
        synth.task("client", tid=CLIENT, target=True)
    for number in range(n_quiet + n_waking):
        ts = (1 + number) * 1000 * US
        wakes = number >= n_quiet
        synth.request(READER, ts, ts + (14 if wakes else 10) * US, nr=READ)
        if wakes:
            synth.sleep(woken, ts - 95 * US, ts + 5 * US, ts + 20 * US, waker=READER)
    return synth


def test_a_culprit_that_is_not_there_is_not_woken(load: Load) -> None:
    store = load(reads(10, 10, BACKUP))
    assert ns(predicted(store, "backup").predicted_ns) == [10 * US] * 20
    assert ns(predicted(store, "other").predicted_ns) == [10 * US] * 10 + [14 * US] * 10


@pytest.mark.parametrize(("n_quiet", "n_waking"), [(9, 10), (10, 9)])
def test_with_few_requests_it_is_not_known_what_that_takes(
    load: Load, n_quiet: int, n_waking: int
) -> None:
    found = ns(predicted(load(reads(n_quiet, n_waking, BACKUP)), "backup").predicted_ns)
    assert found == [10 * US] * n_quiet + [14 * US] * n_waking


def test_who_waits_for_the_request_itself_is_still_woken(load: Load) -> None:
    synth = reads(10, 10, CLIENT)
    for number in range(10, 20):
        ts = (1 + number) * 1000 * US
        synth.request(CLIENT, ts - 100 * US, ts + 30 * US, nr=READ)
    found = predicted(load(synth), "backup")
    assert ns(found.predicted_ns) == ns(found.recorded_ns)


def test_who_no_longer_waits_for_what_the_culprit_did_before_is_not_woken(load: Load) -> None:
    """The reader got the lock late: the client would have had it long before."""
    synth = reads(10, 0, BACKUP)
    synth.task("client", tid=CLIENT, target=True)
    for number in range(10, 20):
        ts = (1 + number) * 1000 * US
        synth.request(READER, ts - 200 * US, ts - US)  # gets the lock from the backup
        synth.sleep(READER, ts - 199 * US, ts - 2 * US, waker=BACKUP, stack=["down_read"])
        synth.request(READER, ts, ts + 14 * US, nr=READ)  # hands it on
        synth.request(CLIENT, ts - 190 * US, ts + 30 * US, nr=READ)
        synth.sleep(CLIENT, ts - 189 * US, ts + 5 * US, waker=READER, stack=["down_read"])
    store = load(synth)
    found = predicted(store, "backup")
    hands_on = found.recorded_ns == 14 * US
    assert ns(found.predicted_ns[hands_on]) == [10 * US] * 10
    assert ns(predicted(store, "other").predicted_ns[hands_on]) == [14 * US] * 10


def test_time_in_interrupts_is_not_taken_for_wake_ups_again(load: Load) -> None:
    """Of 26 us, 16 are for an interrupt that ends the backup's io and for the backup's wake-up."""
    synth = reads(10, 0, BACKUP)
    for number in range(10, 20):
        ts = (1 + number) * 1000 * US
        synth.request(READER, ts, ts + 26 * US, nr=READ)
        synth.io(BACKUP, ts - 300 * US, ts + 3 * US)
        synth.sleep(BACKUP, ts - 95 * US, ts + 5 * US, ts + 40 * US, waker=READER)
    found = predicted(load(synth), "backup")
    assert ns(found.predicted_ns) == [10 * US] * 20
    assert ns(found.low_ns) == [10 * US] * 20


def test_a_wake_up_is_in_all_requests_that_are_under_way(load: Load) -> None:
    """A call within another: what wakes the backup comes after the inner one has ended."""
    synth = world()
    for number in range(20):
        ts, wakes = (1 + number) * 1000 * US, number >= 10
        synth.request(READER, ts, ts + (50 if wakes else 40) * US)
        synth.request(READER, ts + 5 * US, ts + 10 * US, nr=READ)
        if wakes:
            synth.sleep(BACKUP, ts - 95 * US, ts + 20 * US, ts + 100 * US, waker=READER)
    found = predicted(load(synth), "backup")
    outer = found.recorded_ns > 20 * US
    assert ns(found.predicted_ns[outer]) == [40 * US] * 20
    assert ns(found.predicted_ns[~outer]) == [5 * US] * 20
