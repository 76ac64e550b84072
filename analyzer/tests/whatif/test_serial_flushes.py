"""Of flushes that a request waits for one after another, those that a culprit asked for go."""

from collections.abc import Callable

import pytest

from rcp.analyzer.arrays.trace import FUA, OP_FLUSH, OP_WRITE, PREFLUSH
from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, world
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
WORKER, SECOND = 7, 11
MIB, US = 1 << 20, 1000


def two_flushes(*askers: int, own_mib: int = 0) -> Synth:
    """A flush takes 610 ns, as the backup has written 1 MiB; then the reader's takes 200.

    The reader waits for the first one from 1010 to 1600, and for its own from 1650 to 1850. It has
    written *own_mib* before the first.
    """
    synth = world()
    synth.task("reader", tid=SECOND, target=True)
    synth.task("kworker/0:1H", tid=WORKER, kthread=True)
    for tid in (WORKER, SECOND):
        synth.sleep(tid, 1, 2)
    synth.io(BACKUP, 700, 800, size=MIB)
    if own_mib:
        synth.io(READER, 700, 800, size=own_mib * MIB)
    first = synth.io(WORKER, 990, 1600, op=2, size=0)
    for tid in askers:
        synth.sleep(tid, 980, 1600, io=first)
    own = synth.io(WORKER, 1650, 1850, op=2, size=0)
    synth.request(READER, 1000, 1900)
    synth.sleep(READER, 1010, 1850, io=own, stack=["submit_bio_wait"])
    synth.sleep(WORKER, 900, 1600, 1650, io=first)
    return synth


def without_backup(load: Load, synth: Synth) -> int:
    """Return the predicted time of the reader's request."""
    store = load(synth)
    assert ns(predicted(store, "other").predicted_ns) == [900]
    (after,) = ns(predicted(store, "backup").predicted_ns)
    return after


def test_one_that_only_the_culprit_asked_for_is_gone(load: Load) -> None:
    """So is the 50 ns in which the worker was woken. The reader's has nothing more to write."""
    assert without_backup(load, two_flushes(BACKUP)) == 900 - 590 - 50


def test_the_next_one_writes_what_is_left_of_it(load: Load) -> None:
    """For 1 MiB, half way between 200 ns for nothing and 610 for 2 MiB."""
    assert without_backup(load, two_flushes(BACKUP, own_mib=1)) == 900 - 590 + 205


@pytest.mark.parametrize("askers", [(BACKUP, SECOND), (SECOND,)])
def test_one_that_another_client_asked_for_stays(load: Load, askers: tuple[int, ...]) -> None:
    """But for what it takes for the culprit's data: 610 instead of 200."""
    assert without_backup(load, two_flushes(*askers)) == 900 - 410


def test_nobody_is_known_to_have_asked_for_it(load: Load) -> None:
    assert without_backup(load, two_flushes()) == 900 - 410


def test_without_who_asked_the_next_one_writes_what_others_wrote(load: Load) -> None:
    """It takes 410 ns longer for the backup's data, which is all that the first one took longer."""
    store = load(two_flushes(OTHER))
    assert ns(predicted(store, "other").predicted_ns) == [900 - 590 + 410]


def test_a_write_that_kept_the_kernel_from_a_flush_is_gone(load: Load) -> None:
    """But for what the reader's flush takes longer if it is asked for at once: 300 µs, not 200.

    The record of the backup's commit was behind a flush of its own. It has FUA, so that no flush
    begins until its end, 440 µs after the reader wants one.
    """
    synth = world()
    synth.task("kworker/0:1H", tid=WORKER, kthread=True)
    for begin in (200, 700):
        synth.io(WORKER, begin * US, (begin + 300) * US, op=OP_FLUSH, size=0)
    op = OP_WRITE | PREFLUSH | FUA
    synth.io(OTHER, 560 * US, 620 * US, op=op, size=4096)  # one that takes less, with less to flush
    synth.io(BACKUP, 1020 * US, 1050 * US, size=MIB)
    record = synth.io(BACKUP, 1100 * US, 1600 * US, issued=1200 * US, op=op, size=4096)
    synth.sleep(WORKER, 1000 * US, 1600 * US, io=record, stack=["worker_thread"])
    own = synth.io(WORKER, 1600 * US, 1800 * US, op=OP_FLUSH, size=0)
    synth.request(READER, 1150 * US, 1900 * US)
    synth.sleep(READER, 1160 * US, 1800 * US, io=own, stack=["submit_bio_wait"])
    store = load(synth)
    assert ns(predicted(store, "backup").predicted_ns) == [(750 - 440 + 100) * US]
