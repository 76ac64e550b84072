"""Our traces, read by Perfetto's own trace processor: what it counts is what the store holds."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.analyzer.load import load_spool
from rcp.analyzer.store import Store, open_store
from rcp.fixtures.synth import Synth
from rcp.fixtures.trace_processor import TraceProcessor, TraceProcessorError
from rcp.probes.events import WaitReason
from rcp.probes.spool import unpack

# Packets that Perfetto drops are counted as mere information, so a severity is not enough.
LOSSES = """
    SELECT name, value FROM stats
    WHERE value <> 0 AND (
        severity IN ('error', 'data_loss')
        OR name IN ('interned_data_tokenizer_errors', 'tokenizer_skipped_packets')
        OR name GLOB 'flow_*' OR name GLOB '*sched_switch*' OR name GLOB 'clock_sync_failure*'
        OR name GLOB '*misplaced*' OR name GLOB '*negative*'
    )
"""

SLICES = """
    SELECT coalesce(track.name, 'thread') AS name, count(*) AS n
    FROM slice JOIN track ON track.id = track_id GROUP BY 1
"""


def export(recording: Path, *arguments: object) -> Path:
    target = recording.with_name("out.pftrace")
    command = ["export", recording, "--perfetto", "--force", "-o", target, *arguments]
    result = CliRunner().invoke(main, [str(word) for word in command])
    assert result.exit_code == 0, result.output
    return target


def slices(perfetto: TraceProcessor) -> dict[str, int]:
    return {row["name"]: row["n"] for row in perfetto.query(SLICES)}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    packed = Path(__file__).parents[2] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"
    load_spool(unpack(packed, folder), folder / "x.duckdb")
    return folder / "x.duckdb"


@pytest.fixture(scope="module")
def store(recording: Path) -> Iterator[Store]:
    with open_store(recording) as opened:
        yield opened


@pytest.fixture(scope="module")
def perfetto(recording: Path) -> Iterator[TraceProcessor]:
    with TraceProcessor(export(recording)) as loaded:
        yield loaded


def test_nothing_is_lost(perfetto: TraceProcessor) -> None:
    assert perfetto.query(LOSSES) == []


def test_every_track_has_a_slice_per_row(perfetto: TraceProcessor, store: Store) -> None:
    ((requests, ios, commits, phases, inversions),) = store.query("""
        SELECT
            (SELECT count(*) FROM request),
            (SELECT count(*) FROM io),
            (SELECT count(*) FROM journal_commit),
            (SELECT count(locking_ns) + count(flushing_ns) + count(logging_ns)
                FROM journal_commit),
            (SELECT count(*) FROM inversion)
    """)
    found = slices(perfetto)
    assert found["thread"] == requests
    assert found["queued (Q→D)"] == ios
    assert found["Journal of nullb0"] == commits + phases
    assert found["Inversions"] == inversions
    ((completions,),) = store.query(f"SELECT count(DISTINCT sleep_id) {CHOSEN} AND io_id > 0")
    assert found["device (D→C)"] == ios + completions


CHOSEN = """
    FROM edge JOIN (
        SELECT request_id FROM request JOIN task USING (utid)
        WHERE role = 'foreground' AND dur IS NOT NULL ORDER BY dur DESC, request_id LIMIT 100
    ) USING (request_id) WHERE true
"""


def test_paths_of_the_slowest_hundred_are_drawn(perfetto: TraceProcessor, store: Store) -> None:
    ((edges,),) = store.query(f"SELECT count(*) {CHOSEN}")
    segments = CHOSEN.replace("FROM edge", "FROM segment")
    ((pieces,),) = store.query(f"SELECT count(*) {segments}")
    assert slices(perfetto)["critical path"] == 100 + edges + pieces


def test_a_flow_leads_from_every_wait_to_who_ended_it(
    perfetto: TraceProcessor, store: Store
) -> None:
    ((n_flows, n_waits, by_tasks),) = store.query(f"""
        SELECT
            count(DISTINCT sleep_id) FILTER (waker_utid IS NOT NULL OR io_id IS NOT NULL),
            count(DISTINCT sleep_id),
            count(DISTINCT sleep_id) FILTER (waker_utid IS NOT NULL AND io_id IS NULL)
        {CHOSEN}
    """)
    directions = perfetto.query("""
        SELECT source.name GLOB 'waits: *' AND dest.name GLOB 'wakes *' AS ok, count(*) AS n
        FROM flow JOIN slice AS source ON slice_out = source.id
        JOIN slice AS dest ON slice_in = dest.id GROUP BY 1
    """)
    assert directions == [{"ok": 1, "n": n_flows}]
    assert slices(perfetto)["on critical paths"] == n_waits + by_tasks


def test_threads_have_their_names(perfetto: TraceProcessor, store: Store) -> None:
    real = store.query("SELECT DISTINCT tid, comm FROM task WHERE tid > 0")
    shown = perfetto.query("SELECT tid, name FROM thread WHERE tid > 0")
    # Parents of parents were not recorded: Perfetto knows them by number only.
    assert {(row["tid"], row["name"]) for row in shown if row["name"]} == set(real)


def test_every_run_of_a_thread_is_a_sched_slice(perfetto: TraceProcessor, store: Store) -> None:
    ((runs, preempted),) = store.query(
        "SELECT count(*), count(*) FILTER (left_as = 'preempted') FROM on_cpu"
    )
    (row,) = perfetto.query(
        "SELECT count(*) AS runs, count(iif(end_state = 'R+', 1, NULL)) AS preempted"
        " FROM sched JOIN thread USING (utid) WHERE tid > 0"
    )
    assert row == {"runs": runs, "preempted": preempted}


def test_counters_change_as_often_as_ios_do(perfetto: TraceProcessor, store: Store) -> None:
    changes = """
        SELECT count(*) FROM (
            SELECT n_at_device AS n, lag(n_at_device) OVER (ORDER BY ts) AS before
            FROM io_in_flight
        ) WHERE n IS DISTINCT FROM before
    """
    (row,) = perfetto.query(
        "SELECT count(*) AS n, max(value) AS top FROM counter JOIN counter_track AS t"
        " ON t.id = track_id WHERE t.name = 'nullb0: ios at the device'"
    )
    ((n,),) = store.query(changes)
    ((top,),) = store.query("SELECT max(n_at_device) FROM io_in_flight")
    assert (row["n"], row["top"]) == (n, top)


def test_perfettos_own_critical_path_agrees(perfetto: TraceProcessor, store: Store) -> None:
    """It knows nothing of ios, and what it charges to a thread we split into its waits."""
    ((worst, tid, ts, dur),) = store.query(
        "SELECT request_id, tid, ts, dur FROM request JOIN task USING (utid)"
        " WHERE role = 'foreground' ORDER BY dur DESC LIMIT 1"
    )
    perfetto.query("INCLUDE PERFETTO MODULE sched.thread_executing_span")
    theirs = {
        row["name"]: row["share"]
        for row in perfetto.query(f"""
            SELECT thread.name, sum(path.dur) * 1.0 / {dur} AS share
            FROM _thread_executing_span_critical_path(
                (SELECT utid FROM thread WHERE tid = {tid}), {ts}, {dur}) AS path
            JOIN thread USING (utid) GROUP BY 1
        """)
    }
    # Ours by the thread at the end of the wake-ups: an io's time is its waiter's.
    ours = dict(
        store.query(
            "SELECT coalesce(waiter.comm, own.comm), sum(segment.dur) / $2 FROM segment"
            " LEFT JOIN task AS own USING (utid)"
            " LEFT JOIN edge ON edge.edge_id = segment.edge_id AND segment.io_id IS NOT NULL"
            " LEFT JOIN task AS waiter ON waiter.utid = edge.waiter_utid"
            " WHERE segment.request_id = $1 GROUP BY 1",
            [worst, dur],
        )
    )
    assert sum(theirs.values()) == pytest.approx(1, abs=0.01)
    assert theirs["jbd2/nullb0-8"] > 0
    assert theirs["checkpointer"] > 0.5
    assert theirs["checkpointer"] == pytest.approx(ours["checkpointer"], abs=0.15)


def test_chosen_requests_bound_the_trace(recording: Path, store: Store) -> None:
    ((request_id, ts, end),) = store.query(
        "SELECT request_id, ts, ts + dur FROM request WHERE request_id = 982"
    )
    with TraceProcessor(export(recording, "--request", request_id)) as perfetto:
        assert perfetto.query(LOSSES) == []
        (row,) = perfetto.query(
            "SELECT count(*) AS n FROM slice JOIN track ON track.id = track_id"
            f" WHERE track.name GLOB 'queued*' AND ts > {end}"
            f" OR track.name GLOB 'device*' AND ts + dur < {ts}"
        )
        (path,) = perfetto.query(
            "SELECT count(*) AS n FROM slice JOIN track ON track.id = track_id"
            " WHERE track.name = 'critical path' AND depth = 0"
        )
    assert (row["n"], path["n"]) == (0, 1)


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
def small(tmp_path: Path) -> Iterator[TraceProcessor]:
    spool = example().write(tmp_path / "x.spool")
    with TraceProcessor(export(spool)) as loaded:
        yield loaded


def test_a_hand_made_path_is_drawn_as_nested_slices(small: TraceProcessor) -> None:
    assert small.query(LOSSES) == []
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
    told = {row["key"].removeprefix("debug."): row["value"] for row in rows}
    assert told == {
        "io": "1",
        "op": "write",
        "bytes": "4096",
        "sector": "64",
        "submitter": "checkpointer",
        "role": "background",
        "file": "base/data",
        "causes": "checkpointer (3 pages)",
    }


def test_a_thread_state_names_the_function_slept_in(tmp_path: Path) -> None:
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


def test_a_broken_trace_would_be_seen(tmp_path: Path) -> None:
    # Without the first packet nothing may use numbered names: all later ones are skipped.
    whole = export(example().write(tmp_path / "x.spool")).read_bytes()
    first = 2 + whole[1]  # tag, length (below 128), packet
    (tmp_path / "torn.pftrace").write_bytes(whole[first:])
    with TraceProcessor(tmp_path / "torn.pftrace") as perfetto:
        lost = {row["name"] for row in perfetto.query(LOSSES)}
    assert "tokenizer_skipped_packets" in lost


def test_the_witness_tells_its_own_errors(small: TraceProcessor) -> None:
    with pytest.raises(TraceProcessorError, match="no such table: no_such"):
        small.query("SELECT * FROM no_such")


def test_an_empty_recording_is_an_empty_trace(tmp_path: Path) -> None:
    target = export(Synth().write(tmp_path / "x.spool"))
    with TraceProcessor(target) as perfetto:
        assert perfetto.query(LOSSES) == []
        assert perfetto.query("SELECT count(*) AS n FROM slice") == [{"n": 0}]


def test_both_kinds_of_input_give_one_trace(tmp_path: Path) -> None:
    spool = example().write(tmp_path / "x.spool")
    load_spool(spool, tmp_path / "x.duckdb")
    assert export(spool).read_bytes() == export(tmp_path / "x.duckdb").read_bytes()
