"""Without the culprit no request is slower than the slowest that it did not disturb."""

from collections.abc import Callable

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, read_io, world
from rcp.fixtures.synth import READ, Synth

Load = Callable[[Synth], Store]
STEP = 1_000_000


def waits_for_the_other(synth: Synth, ts: int, other_ns: int, culprit_ns: int) -> None:
    """Add a read of 100 ns that waits for a lock of the other's, then for one of the backup's."""
    end = ts + 100 + other_ns + culprit_ns
    synth.request(READER, ts, end, nr=READ)
    if other_ns:
        synth.sleep(READER, ts + 50, ts + 50 + other_ns, waker=OTHER, stack=["down_read"])
    if culprit_ns:
        synth.sleep(READER, end - 50 - culprit_ns, end - 50, waker=BACKUP, stack=["down_read"])


@pytest.mark.parametrize(("n_alike", "expected_ns"), [(20, 1300), (19, 2100)])
def test_what_is_left_is_no_slower_than_the_slowest_undisturbed_one(
    load: Load, n_alike: int, expected_ns: int
) -> None:
    synth = world()
    for number in range(n_alike):
        waits_for_the_other(synth, (1 + number) * STEP, 1200 if number else 1100, 0)
    waits_for_the_other(synth, 50 * STEP, 2000, 5000)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found == [1200, *[1300] * (n_alike - 1), expected_ns]


def test_a_request_that_hardly_lost_anything_is_undisturbed(load: Load) -> None:
    synth = world()
    for number in range(20):
        waits_for_the_other(synth, (1 + number) * STEP, 1200, 10)
    waits_for_the_other(synth, 50 * STEP, 2000, 5000)
    assert ns(predicted(load(synth), "backup").predicted_ns)[-1] == 1310


@pytest.mark.parametrize(("n_far", "expected_ns"), [(20, 1300), (19, 1800)])
def test_a_request_beside_a_disturbed_one_is_no_measure_if_there_are_others(
    load: Load, n_far: int, expected_ns: int
) -> None:
    """Of another client: it waits for the disturbed one, not for the culprit."""
    synth = world()
    client = synth.task("reader", tid=11, pid=READER, target=True)
    synth.sleep(client, 1, 2)
    for number in range(n_far):
        waits_for_the_other(synth, (1 + number) * STEP, 1200, 0)
    waits_for_the_other(synth, 40 * STEP, 1700, 0)
    synth.request(client, 40 * STEP + 500, 40 * STEP + 3000, nr=READ)
    synth.sleep(client, 40 * STEP + 600, 40 * STEP + 2900, waker=BACKUP, stack=["down_read"])
    waits_for_the_other(synth, 50 * STEP, 2000, 5000)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found[-1] == expected_ns


def test_a_read_from_the_cache_is_no_measure_for_one_from_the_disk(load: Load) -> None:
    synth = world()
    for number in range(30):
        synth.request(READER, (1 + number) * STEP, (1 + number) * STEP + 40, nr=READ)
    read_io(synth, 40 * STEP, 40 * STEP + 120)
    synth.io(BACKUP, 50 * STEP - 500, 50 * STEP + 400)
    read_io(synth, 50 * STEP, 50 * STEP + 820, issued=50 * STEP + 700)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found[:31] == [*[40] * 30, 120]
    assert found[31] >= 120


def test_on_a_faster_device_ios_are_not_as_fast_as_none(load: Load) -> None:
    synth = world()
    for number in range(30):
        synth.request(READER, (1 + number) * STEP, (1 + number) * STEP + 40, nr=READ)
    read_io(synth, 40 * STEP, 40 * STEP + 120)
    found = ns(predicted(load(synth), faster=["device=2x"]).predicted_ns)
    assert found[-1] == 70
