"""Without a culprit's writes a flush takes as long as one with as much as is left."""

from collections.abc import Callable

import pytest

from rcp.analyzer.arrays.trace import OP_READ, OP_WRITE, PREFLUSH
from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, OTHER, READER, ns, predicted, read_io, world
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
MIB = 1 << 20


def flushes(*rows: tuple[int, dict[int, int]]) -> Synth:
    """Add an fsync for each row: how long its flush takes, and what was written before, in MiB."""
    synth = world()
    for number, (took, written) in enumerate(rows):
        ts = 1000 * (1 + number)
        for tid, size in written.items():
            synth.io(tid, ts - 400, ts - 300, size=size * MIB)
        io = synth.io(READER, ts + 10, ts + 10 + took, op=2, size=0)
        synth.request(READER, ts, ts + 20 + took)
        synth.sleep(READER, ts + 10, ts + 10 + took, io=io)
    return synth


@pytest.mark.parametrize(
    ("last", "expected_ns"),
    [
        ({READER: 1, BACKUP: 3}, 120),
        ({READER: 1, BACKUP: 3, OTHER: 1}, 220),
        ({READER: 1, OTHER: 3}, 520),
        ({READER: 4, BACKUP: 3}, 320),
    ],
    ids=["its writes alone", "as much is between", "none of its", "half way between"],
)
def test_the_excess_over_flushes_of_what_is_left_is_gone(
    load: Load, last: dict[int, int], expected_ns: int
) -> None:
    store = load(flushes((100, {READER: 1}), (100, {READER: 1}), (500, last)))
    assert ns(predicted(store, "backup").predicted_ns) == [120, 120, expected_ns]


def test_a_flush_of_an_empty_cache_is_no_measure_for_one_with_own_data(load: Load) -> None:
    store = load(flushes((10, {}), (100, {READER: 1}), (500, {READER: 1, BACKUP: 3})))
    assert ns(predicted(store, "backup").predicted_ns) == [30, 120, 120]


def test_nor_is_it_where_every_other_flush_has_more_to_write(load: Load) -> None:
    """The time for 1 MiB is that for 2, not one between it and that for nothing."""
    rows = [(300, {READER: 1, BACKUP: 1}), (500, {READER: 4}), (500, {READER: 1, BACKUP: 3})]
    store = load(flushes((10, {}), (10, {}), *rows))
    assert ns(predicted(store, "backup").predicted_ns)[-1] == 20 + 300


def test_of_flushes_of_one_size_an_empty_one_is_the_other_end_of_the_scale(load: Load) -> None:
    store = load(flushes((100, {}), *[(300, {READER: 1, BACKUP: 1})] * 3))
    assert ns(predicted(store, "backup").predicted_ns) == [120, 220, 220, 220]


def test_what_is_only_behind_a_flush_is_at_the_device_as_any_write(load: Load) -> None:
    """Two records of a journal wait 50 ns for a flush; the second is beside the backup's read."""

    synth = world()
    for ts, end in ((1000, 1100), (2000, 2500)):
        op = OP_WRITE | PREFLUSH
        io = synth.io(READER, ts + 10, end, issued=ts + 60, op=op, size=4096)
        synth.request(READER, ts, end + 10)
        synth.sleep(READER, ts + 10, end, io=io)
    synth.io(BACKUP, 2055, 2490, op=OP_READ, size=MIB)
    first, second = ns(predicted(load(synth), "backup").predicted_ns)
    assert first == 110
    # It takes 40 ns at the device alone.
    assert 110 <= second < 130


def test_no_scheduler_keeps_a_device_free_for_who_has_flushed(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1500, 2100)
    synth.io(READER, 2110, 2130, op=2, size=0)
    read_io(synth, 2000, 2820, issued=2700)
    assert ns(predicted(load(synth), "backup").predicted_ns)[1] <= 150


def test_before_the_first_io_but_flushes_a_device_is_kept_free_for_nobody(load: Load) -> None:
    synth = world()
    synth.io(BACKUP, 500, 600, op=2, size=0)
    read_io(synth, 700, 3000, issued=2900)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [2300]


@pytest.mark.parametrize(("queued", "left"), [(1900, 220), (2200, 810)])
def test_a_device_is_kept_free_because_of_those_that_wait(
    load: Load, queued: int, left: int
) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(OTHER, 1500, 2100)  # until 2690 the scheduler waits for more of the other's
    synth.io(BACKUP, queued, 2695, issued=2690)
    read_io(synth, 2000, 2820, issued=2700)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, left]


def test_it_is_not_kept_free_because_of_a_flush_that_waits(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(OTHER, 1500, 2100)
    synth.io(BACKUP, 1900, 2695, issued=2690, op=2, size=0)
    read_io(synth, 2000, 2820, issued=2700)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 815]
