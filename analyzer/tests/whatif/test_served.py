"""What a worker does for the culprit's ios, while a request waits for it, is gone."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, SERVER, ns, predicted, world
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
US = 1000
WORKER = 60


def waits_for_worker() -> Synth:
    """A read of 1000 us, of which the worker runs for 900; it was woken by the reader."""
    synth = world()
    synth.task("kworker/u4:1", tid=WORKER, kthread=True)
    synth.request(READER, 1000 * US, 2000 * US, nr=READ)
    synth.sleep(READER, 1050 * US, 1950 * US, waker=WORKER, stack=["submit_bio_wait"])
    synth.sleep(WORKER, 500 * US, 1050 * US, waker=READER)
    synth.sleep(WORKER, 1960 * US, 3000 * US)
    return synth


@pytest.mark.parametrize(
    ("culprit", "expected_us"), [("backup", 400), ("other", 1000), ("role:background", 400)]
)
def test_what_a_worker_is_known_to_do_for_the_culprit_is_gone(
    load: Load, culprit: str, expected_us: int
) -> None:
    synth = waits_for_worker()
    synth.served(0, WORKER, 1050 * US, 1650 * US, owner=BACKUP)
    synth.served(0, WORKER, 1650 * US, 1950 * US, owner=READER)
    assert ns(predicted(load(synth), culprit).predicted_ns) == [expected_us * US]


def test_what_a_worker_does_until_it_queues_the_culprits_io_is_gone(load: Load) -> None:
    """It queues two ios of the backup's, another one in between, and then works for the read.

    Handing the last one over, of a page, takes 105 us at most.
    """
    synth = waits_for_worker()
    for owner, at_us in ((BACKUP, 1250), (OTHER, 1300), (BACKUP, 1650)):
        io = synth.io(WORKER, at_us * US, 5000 * US)
        synth.cause(io, owner)
    store = load(synth)
    assert ns(predicted(store, "backup").predicted_ns) == [(1000 - 200 - 350 - 105) * US]
    assert ns(predicted(store, "role:background").predicted_ns) == [(1000 - 600 - 105) * US]


def test_what_a_thread_of_users_does_before_an_io_may_be_anything(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000 * US, 2000 * US, nr=READ)
    synth.sleep(READER, 1050 * US, 1950 * US, waker=SERVER, stack=["pipe_read"])
    synth.sleep(SERVER, 500 * US, 1050 * US, waker=READER)
    synth.sleep(SERVER, 1960 * US, 3000 * US)
    io = synth.io(SERVER, 1940 * US, 5000 * US)
    synth.cause(io, BACKUP)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [1000 * US]


def test_what_is_known_of_a_worker_goes_before_what_its_ios_tell(load: Load) -> None:
    """From 1500 to 1900 it works for the read, then for an io of the backup's again."""
    synth = waits_for_worker()
    synth.served(0, WORKER, 1050 * US, 1500 * US, owner=BACKUP)
    synth.served(0, WORKER, 1500 * US, 1900 * US, owner=READER)
    io = synth.io(WORKER, 1950 * US, 5000 * US)
    synth.cause(io, BACKUP)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [500 * US]


@pytest.mark.parametrize(("op", "expected_us"), [(1, 400), (2, 1000)], ids=["write", "flush"])
def test_a_flush_of_a_loop_device_is_for_all_who_wrote(
    load: Load, op: int, expected_us: int
) -> None:
    synth = waits_for_worker()
    of_loop = synth.io(BACKUP, 900 * US, 1700 * US, op=op, size=0 if op == 2 else 4096, dev=9)
    synth.served(of_loop, WORKER, 1050 * US, 1650 * US, owner=BACKUP)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [expected_us * US]


def test_two_ios_at_once_in_a_damaged_recording_are_one_after_the_other(load: Load) -> None:
    synth = waits_for_worker()
    synth.served(0, WORKER, 1050 * US, 1900 * US, owner=BACKUP)
    synth.served(0, WORKER, 1150 * US, 1950 * US, owner=READER)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [900 * US]
