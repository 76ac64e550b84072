"""Our traces of recordings made by hand, read by Perfetto's own engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import Synth
from rcp.fixtures.trace_processor import TraceProcessor, TraceProcessorError
from rcp.probes.contract.events import PolicyKind, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Export


def example() -> Synth:
    synth = Synth([("foreground", "comm:writer"), ("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    bg = synth.task("checkpointer", tid=20)
    synth.request(fg, 1000, 1100)
    synth.request(fg, 1200, 0)
    synth.first_seen(fg, 900)
    synth.first_seen(bg, 1000)
    synth.first_seen(jbd2, 950)
    synth.sleep(fg, 1010, 1090, 1092, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    synth.file(77, "data", "base")
    io = synth.io(bg, 1030, 1084, issued=1040, sector=64, ino=77)
    synth.cause(io, bg, ino=77, n_pages=3)
    synth.sleep(jbd2, 1020, 1085, io=io, stack=["schedule", "folio_wait_writeback"])
    synth.commit(jbd2, 1015, 1088, transaction=9)
    synth.throttle(bg, 1050, dirty=800)
    return synth


@pytest.fixture
def small(tmp_path: Path, export: Export) -> Iterator[TraceProcessor]:
    spool = example().write(tmp_path / "x.spool")
    with TraceProcessor(export(spool)) as loaded:
        yield loaded


def test_a_hand_made_path_is_drawn_as_nested_slices(small: TraceProcessor) -> None:
    assert small.losses() == []
    path = small.query(
        "SELECT ts, dur, depth, slice.name FROM slice JOIN track ON track.id = track_id"
        " WHERE track.name = 'critical path' ORDER BY ts, depth"
    )
    assert [tuple(row.values()) for row in path] == [
        (1000, 100, 0, "fsync"),
        (1000, 10, 1, "cpu (writer)"),
        (1010, 80, 1, "journal_commit (jbd2/nvme0n1-8)"),
        (1010, 10, 2, "cpu (jbd2/nvme0n1-8)"),
        (1020, 65, 2, "page_writeback → io by checkpointer"),
        (1020, 10, 3, "cpu (checkpointer)"),
        (1030, 10, 3, "queue (write by checkpointer)"),
        (1040, 45, 3, "device (write by checkpointer)"),
        (1085, 5, 2, "cpu (jbd2/nvme0n1-8)"),
        (1090, 2, 1, "runqueue (writer)"),
        (1092, 8, 1, "cpu (writer)"),
    ]


def test_an_io_says_whose_and_which_file_it_was(small: TraceProcessor) -> None:
    rows = small.query(
        "SELECT key, display_value AS value FROM args JOIN slice USING (arg_set_id)"
        " JOIN track ON track.id = track_id WHERE track.name GLOB 'device*'"
        " AND slice.name = 'write by checkpointer'"
    )
    arguments = {row["key"].removeprefix("debug."): row["value"] for row in rows}
    assert arguments == {
        "io": "1",
        "op": "write",
        "bytes": "4096",
        "sector": "64",
        "submitter": "checkpointer",
        "role": "background",
        "file": "base/data",
        "causes": "checkpointer (3 pages)",
    }


def test_a_thread_state_names_the_function_slept_in(tmp_path: Path, export: Export) -> None:
    synth = Synth()
    task = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    synth.first_seen(task, 1000)
    synth.sleep(task, 1020, 1085, stack=["schedule", "io_schedule", "folio_wait_writeback"])
    with TraceProcessor(export(synth.write(tmp_path / "x.spool"))) as perfetto:
        rows = perfetto.query(
            "SELECT ts, dur, blocked_function AS slept_in FROM thread_state WHERE state = 'D'"
        )
    assert rows == [{"ts": 1020, "dur": 65, "slept_in": "folio_wait_writeback"}]


def test_an_unfinished_request_has_no_end(small: TraceProcessor) -> None:
    rows = small.query("SELECT ts, dur FROM slice WHERE name = 'fsync' AND ts = 1200")
    assert rows == [{"ts": 1200, "dur": -1}]


def test_times_are_the_recordings_own(small: TraceProcessor) -> None:
    (row,) = small.query(
        "SELECT ts, value FROM counter JOIN counter_track AS t ON t.id = track_id"
        " WHERE t.name = 'dirty pages'"
    )
    assert row == {"ts": 1050, "value": 800}


def test_a_broken_trace_would_be_seen(tmp_path: Path, export: Export) -> None:
    # Without the first packet nothing may use numbered names: all later ones are skipped.
    whole = export(example().write(tmp_path / "x.spool")).read_bytes()
    first = 2 + whole[1]  # tag, length (below 128), packet
    (tmp_path / "torn.pftrace").write_bytes(whole[first:])
    with TraceProcessor(tmp_path / "torn.pftrace") as perfetto:
        lost = perfetto.losses()
    assert "tokenizer_skipped_packets" in lost


def test_the_witness_tells_its_own_errors(small: TraceProcessor) -> None:
    with pytest.raises(TraceProcessorError, match="no such table: no_such"):
        small.query("SELECT * FROM no_such")


def test_an_empty_recording_is_an_empty_trace(tmp_path: Path, export: Export) -> None:
    target = export(Synth().write(tmp_path / "x.spool"))
    with TraceProcessor(target) as perfetto:
        assert perfetto.losses() == []
        assert perfetto.query("SELECT count(*) AS n FROM slice") == [{"n": 0}]


def test_both_kinds_of_input_give_one_trace(tmp_path: Path, export: Export) -> None:
    spool = example().write(tmp_path / "x.spool")
    load_spool(spool, tmp_path / "x.duckdb")
    assert export(spool).read_bytes() == export(tmp_path / "x.duckdb").read_bytes()


def test_a_decision_of_the_patched_kernel_is_a_mark_with_its_numbers(
    tmp_path: Path, export: Export
) -> None:
    synth = Synth()
    bg = synth.task("backup", tid=20)
    synth.first_seen(bg, 900)
    io = synth.io(bg, 1000, 2000, issued=1900)
    synth.policy(PolicyKind.IO_HELD, 1005, 1900, io=io, used=4, limit=4)
    with TraceProcessor(export(synth.write(tmp_path / "x.spool"))) as perfetto:
        assert perfetto.losses() == []
        rows = perfetto.query(
            "SELECT ts, dur, slice.name, display_value AS value FROM slice"
            " JOIN track ON track.id = track_id JOIN args USING (arg_set_id)"
            " WHERE track.name = 'Decisions of the kernel''s policies'"
            " AND key = 'debug.decision'"
        )
    assert [tuple(row.values()) for row in rows] == [
        (1005, 0, "io_held of backup", "held for a token: 4 of 4 used")
    ]
