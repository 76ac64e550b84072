"""Records that no kernel can have written are left out, and only those."""

from random import Random

import numpy as np
import pytest

from rcp.analyzer.arrays.plausible import PID_MAX, TIME_MAX_NS, plausible
from rcp.probes.contract.events import IO, RECORDS, REQUEST, SLEEP, Record


def some(record: Record, count: int = 3, **columns: object) -> np.ndarray:
    rows = np.zeros(count, record.dtype)
    if record == IO:
        rows["id"] = 1
    for name, values in columns.items():
        rows[name] = values
    return rows


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_zeros_and_the_largest_values_can_be(record: Record) -> None:
    rows = some(record)
    for field in record.fields:
        if field.name == "ts" or field.name.endswith("_ns"):
            rows[field.name] = TIME_MAX_NS
        elif field.name.endswith(("tid", "pid")):
            rows[field.name] = PID_MAX
    assert plausible(record, rows) is rows


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_random_bytes_are_left_out(record: Record) -> None:
    """Where a record has a task and three times, one in 10^9 random ones passes."""
    count = 2000
    rows = np.frombuffer(Random(record.name).randbytes(count * record.size_bytes), record.dtype)
    has_time = any(field.name == "ts" for field in record.fields)
    assert len(plausible(record, rows)) <= (count // 32 if has_time else count // 500)


def test_each_bound_is_one_of_a_field() -> None:
    later = TIME_MAX_NS + 1
    assert plausible(SLEEP, some(SLEEP, ts=[0, later, 1]))["ts"].tolist() == [0, 1]
    assert len(plausible(SLEEP, some(SLEEP, owner_tid=[0, PID_MAX + 1, 1 << 31]))) == 1
    assert len(plausible(SLEEP, some(SLEEP, cpu=[0, 8191, 1 << 30]))) == 2
    assert len(plausible(IO, some(IO, id=[0, 1, 2]))) == 2


def test_nothing_ends_before_it_begins_or_after_the_recording() -> None:
    rows = some(REQUEST, ts=[5, 5, 5], end_ns=[0, 4, 6])
    assert plausible(REQUEST, rows)["end_ns"].tolist() == [0, 6]
    assert plausible(REQUEST, rows, 5)["end_ns"].tolist() == [0]


def test_a_large_array_is_judged_in_parts() -> None:
    rows = some(REQUEST, 200_000)
    rows["tid"][::2] = PID_MAX + 1
    assert len(plausible(REQUEST, rows)) == 100_000
