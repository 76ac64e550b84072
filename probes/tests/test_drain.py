import errno
import json
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rcp.probes.contract.events import REQUEST, SCHEMA_VERSION, SLEEP, Record
from rcp.probes.contract.spool import SpoolWriter, open_spool
from rcp.probes.cost.between import Between, nothing
from rcp.probes.drain import Recorder, Rows
from rcp.probes.program import ring_bytes

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource


@pytest.fixture
def spool(tmp_path: Path) -> SpoolWriter:
    return SpoolWriter(tmp_path / "a.spool", {"schema_version": SCHEMA_VERSION})


def test_the_counters_tell_of_exactly_what_is_in_the_spool(
    source: "ArraySource", spool: SpoolWriter
) -> None:
    # The probes are on to the last: every drain, the final ones included, finds more.
    source.on_drain = lambda: source.put("sleep", tid=[1, 2, 3])
    recorder = Recorder(source, spool)
    recorder.drain()
    counters = source.counters

    def counted_between(between: Between = nothing) -> dict[str, dict[str, list[int]]]:
        now = counters(between)
        source.put("sleep", tid=[4, 5])  # written after the counters were read
        return now

    source.counters = counted_between  # type: ignore[method-assign]
    recorder.finish()
    spool.close({})
    written = json.loads((spool.path / "counters.json").read_text())["written"]["sleep"]
    assert written == [len(open_spool(spool.path).records(SLEEP))]
    assert recorder.n_records == written[0]


def test_requests_under_way_are_added_to_what_was_written(
    source: "ArraySource", spool: SpoolWriter
) -> None:
    source.put("request", ts=1, end_ns=0, tid=7)
    source.unfinished = source.drain(REQUEST)
    source.written.clear()
    recorder = Recorder(source, spool)
    source.put("request", ts=1, end_ns=5, tid=6)
    recorder.finish()
    assert open_spool(spool.path).records(REQUEST)["tid"].tolist() == [6, 7]


def test_a_drain_moves_pieces_and_what_comes_meanwhile(
    source: "ArraySource", spool: SpoolWriter
) -> None:
    """Between two pieces it may give way: 32 KiB are 341 records of sleeps, 819 of requests."""
    moved: list[int] = []
    n_requests: list[int] = []

    def between() -> None:
        moved.append(recorder.n_records)
        if len(moved) == 1:
            source.put("sleep", tid=range(5000, 5007))

    def look(rows: Rows) -> None:
        n_requests.append(len(rows))

    source.put("sleep", tid=range(700))
    source.put("request", ts=1, end_ns=5, tid=range(820))
    recorder = Recorder(source, spool, on_requests=look, between=between)
    recorder.drain()
    assert n_requests == [819, 1]
    assert [b - a for a, b in pairwise([0, *moved]) if b > a] == [341, 341, 25, 819, 1]
    assert open_spool(spool.path).records(SLEEP)["tid"].tolist() == [
        *range(700),
        *range(5000, 5007),
    ]


def test_a_full_disk_leaves_nothing_in_the_rings(
    source: "ArraySource", spool: SpoolWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests are still counted; only the sleeps can not be written."""
    append, n_requests = spool.append, list[int]()

    def full(record: Record, rows: Rows) -> None:
        if record == SLEEP and len(rows):
            raise OSError(errno.ENOSPC, "No space left on device")
        append(record, rows)

    monkeypatch.setattr(spool, "append", full)
    source.put("sleep", tid=range(700))
    source.put("request", ts=1, end_ns=5, tid=range(820))
    recorder = Recorder(source, spool, on_requests=lambda rows: n_requests.append(len(rows)))
    with pytest.raises(OSError, match="No space left"):
        recorder.drain()
    assert (n_requests, source.waiting) == ([819, 1], {})


def test_a_ring_that_fills_as_fast_as_it_is_drained_ends_no_drain_for_others(
    source: "ArraySource", spool: SpoolWriter
) -> None:
    def never_empty(record: Record, most: int | None = None) -> Rows:
        return np.zeros(most or 1 if record == REQUEST else 0, record.dtype)

    source.drain = never_empty  # type: ignore[method-assign]
    recorder = Recorder(source, spool)
    recorder.drain()
    n_in_ring = ring_bytes(REQUEST) // REQUEST.size_bytes
    assert n_in_ring < len(open_spool(spool.path).records(REQUEST)) < 1.1 * n_in_ring


def test_each_stack_is_written_once(source: "ArraySource", spool: SpoolWriter) -> None:
    recorder = Recorder(source, spool)
    for _ in range(3):  # -17: EEXIST, its place was taken
        source.put("sleep", tid=1, stack_id=[5, 5, -1, -17, 6])
        recorder.drain()
        recorder.housekeep()
    lines = (spool.path / "stack.jsonl").read_text().splitlines()
    assert [json.loads(line)["id"] for line in lines] == [5, 6]
