"""Of flushes that a request waits for one after another, it needs one."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, world
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
WORKER = 7


def two_flushes(*, writer: int = BACKUP, first: int = 600, between: int = 0) -> Synth:
    """A worker does a flush, then another of 200 ns; before, somebody wrote.

    ``between``: how long a write of the reader's takes between them.
    """
    synth = world()
    synth.task("kworker/0:1H", tid=WORKER, kthread=True)
    synth.sleep(WORKER, 1, 2)
    synth.io(writer, 700, 800, size=1 << 20)
    flushes = [synth.io(WORKER, 990, 1000 + first, op=2, size=0)]
    begin = 1000 + first + 50 + between
    if between:
        write = synth.io(READER, 1000 + first + 20, begin)
        synth.sleep(WORKER, 1000 + first + 20, begin, io=write)
    flushes.append(synth.io(WORKER, begin, begin + 200, op=2, size=0))
    end = begin + 200
    synth.request(READER, 1000, end + 50)
    synth.sleep(READER, 1010, end + 10, waker=WORKER, stack=["submit_bio_wait"])
    synth.sleep(WORKER, 1010, 1000 + first, io=flushes[0])
    synth.sleep(WORKER, begin, end, io=flushes[1])
    return synth


def test_the_longest_one_is_left(load: Load) -> None:
    """The shorter one and the 50 ns before it are gone, with the backup's part of the longer."""
    store = load(two_flushes())
    before = ns(predicted(store, "other").predicted_ns)
    assert before == [900]
    (after,) = ns(predicted(store, "backup").predicted_ns)
    assert after <= 900 - 250


@pytest.mark.parametrize("first", [300, 600])
def test_that_is_so_only_if_the_culprit_had_something_to_flush(load: Load, first: int) -> None:
    store = load(two_flushes(writer=OTHER, first=first))
    assert ns(predicted(store, "backup").predicted_ns) == [first + 300]


def test_flushes_with_a_write_between_them_are_both_needed(load: Load) -> None:
    store = load(two_flushes(between=100))
    (with_both,) = ns(predicted(store, "backup").predicted_ns)
    (with_one,) = ns(predicted(load(two_flushes()), "backup").predicted_ns)
    assert with_both >= with_one + 100 + 200
