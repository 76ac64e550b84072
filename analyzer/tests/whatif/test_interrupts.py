"""Interrupts for a culprit's ios take a request's time on a CPU; what they take is learned."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, world
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
US = 1000


def requests(*rows: tuple[int, int]) -> Synth:
    """Add a read for each row: how many us it runs, and how many of the backup's ios end then."""
    synth = world()
    synth.sleep(READER, 1, 2)
    for number, (took, n_ios) in enumerate(rows):
        ts = (1 + number) * 1000 * US
        synth.request(READER, ts, ts + took * US, nr=READ)
        for io in range(n_ios):
            synth.io(BACKUP, ts - 300 * US, ts + (1 + io) * US)
    return synth


QUIET = [(10, 0)] * 10


def test_what_requests_with_interrupts_run_longer_is_theirs(load: Load) -> None:
    store = load(requests(*QUIET, *[(18, 1)] * 10, (26, 2), (14, 2), (100, 1)))
    found = ns(predicted(store, "backup").predicted_ns)
    # An interrupt takes 8 us: that is the median of what each one takes.
    assert found[:20] == [10 * US] * 20
    assert found[20:] == [10 * US, 10 * US, 92 * US]
    assert ns(predicted(store, "other").predicted_ns)[20:] == [26 * US, 14 * US, 100 * US]


def test_an_interrupt_that_is_recorded_takes_some_time_besides_its_own(load: Load) -> None:
    """Of 28 us it is 10 us in the interrupt, which is gone, and 8 us to come back from it."""
    synth = requests(*QUIET, *[(28, 0)] * 10)
    for number in range(10, 20):
        ts = (1 + number) * 1000 * US
        io = synth.io(BACKUP, ts - 300 * US, ts + 5 * US)
        synth.interrupt(io, ts + 5 * US, ts + 15 * US, READER)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [10 * US] * 20


def test_what_an_interrupt_takes_is_learned_from_requests_of_all_kinds(load: Load) -> None:
    """Five reads and five syncs are interrupted: too few of each."""
    synth = requests(*QUIET, *[(18, 1)] * 5)
    for number in range(15):
        ts = (101 + number) * 1000 * US
        synth.request(READER, ts, ts + (40 if number < 10 else 48) * US)
        if number >= 10:
            synth.io(BACKUP, ts - 300 * US, ts + US)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found == [10 * US] * 15 + [40 * US] * 15


@pytest.mark.parametrize("rows", [QUIET[:9] + [(18, 1)] * 10, QUIET + [(18, 1)] * 9])
def test_with_few_requests_of_a_kind_it_is_not_known(
    load: Load, rows: list[tuple[int, int]]
) -> None:
    found = ns(predicted(load(requests(*rows)), "backup").predicted_ns)
    assert found == [took * US for took, _ in rows]


def test_many_interrupts_are_a_sign_of_a_long_request(load: Load) -> None:
    store = load(requests(*QUIET, *[(200, 5)] * 10))
    assert ns(predicted(store, "backup").predicted_ns)[10:] == [200 * US] * 10


def test_requests_that_run_long_anyway_are_no_work_of_interrupts(load: Load) -> None:
    """In long requests there are always some: they take 50 us each at most."""
    store = load(requests(*QUIET, *[(800, 2)] * 10))
    assert ns(predicted(store, "backup").predicted_ns)[10:] == [700 * US] * 10


def test_the_end_of_others_ios_does_not_count(load: Load) -> None:
    synth = requests(*QUIET, *[(18, 0)] * 10)
    for number in range(10, 20):
        ts = (1 + number) * 1000 * US
        synth.io(OTHER, ts - 300 * US, ts + US)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found == [10 * US] * 10 + [18 * US] * 10
