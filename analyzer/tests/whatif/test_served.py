"""What a worker does for the culprit's ios, while a request waits for it, is gone."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, world
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
    """It queues two ios of the backup's, an own one in between, and then works for the read."""
    synth = waits_for_worker()
    for owner, at_us in ((BACKUP, 1250), (OTHER, 1300), (BACKUP, 1650)):
        io = synth.io(WORKER, at_us * US, 5000 * US)
        synth.cause(io, owner)
    store = load(synth)
    assert ns(predicted(store, "backup").predicted_ns) == [(1000 - 200 - 350) * US]
    assert ns(predicted(store, "role:background").predicted_ns) == [400 * US]


def test_two_ios_at_once_in_a_damaged_recording_are_one_after_the_other(load: Load) -> None:
    synth = waits_for_worker()
    synth.served(0, WORKER, 1050 * US, 1900 * US, owner=BACKUP)
    synth.served(0, WORKER, 1150 * US, 1950 * US, owner=READER)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [900 * US]
