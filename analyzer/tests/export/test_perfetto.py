"""Our trace of a real recording, read by Perfetto's own engine: it counts what the store holds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.db.store import Store, open_store
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.trace_processor import TraceProcessor
from rcp.probes.contract.spool import unpack

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Export

SLICES = """
    SELECT coalesce(track.name, 'thread') AS name, count(*) AS n
    FROM slice JOIN track ON track.id = track_id GROUP BY 1
"""


def slices(perfetto: TraceProcessor) -> dict[str, int]:
    return {row["name"]: row["n"] for row in perfetto.query(SLICES)}


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real")
    packed = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"
    load_spool(unpack(packed, folder), folder / "x.duckdb")
    return folder / "x.duckdb"


@pytest.fixture(scope="module")
def store(recording: Path) -> Iterator[Store]:
    with open_store(recording) as opened:
        yield opened


@pytest.fixture(scope="module")
def perfetto(recording: Path, export: Export) -> Iterator[TraceProcessor]:
    with TraceProcessor(export(recording)) as loaded:
        yield loaded


def test_nothing_is_lost(perfetto: TraceProcessor) -> None:
    assert perfetto.losses() == []


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
    real = store.query(
        "SELECT any_value(tid), arg_max(comm, utid) FROM task WHERE tid > 0 GROUP BY thread_utid"
    )
    shown = perfetto.query("SELECT tid, name FROM thread WHERE tid > 0")
    # Parents of parents were not recorded: Perfetto knows them by number only.
    assert {(row["tid"], row["name"]) for row in shown if row["name"]} == set(real)


def test_every_run_of_a_thread_is_a_sched_slice(perfetto: TraceProcessor, store: Store) -> None:
    ((runs, preempted),) = store.query(
        "SELECT count(*), count(*) FILTER (left_as = 'preempted') FROM on_cpu"
    )
    (row,) = perfetto.query(
        "SELECT count(*) AS runs, count(iif(end_state = 'R+', 1, NULL)) AS preempted"
        " FROM sched JOIN thread USING (utid) WHERE tid > 0 AND name <> 'rcp-trace'"
    )
    assert row == {"runs": runs, "preempted": preempted}


def test_the_recorder_runs_where_it_was_left_for_a_recorded_thread(
    perfetto: TraceProcessor, store: Store
) -> None:
    """Its runs are not recorded, but who they kept waiting is; it counted its CPU time itself."""
    ((given_up, cpu_s),) = store.query("""
        SELECT
            (SELECT count(*) FROM sleep JOIN task ON task.utid = ran_utid WHERE is_recorder),
            (SELECT (value->>'$.cost.recorder_cpu_s')::DOUBLE FROM meta WHERE key = 'end')
    """)
    (row,) = perfetto.query(
        "SELECT count(*) AS n, sum(dur) AS ns FROM sched JOIN thread USING (utid)"
        " WHERE name = 'rcp-trace'"
    )
    assert 0 < row["n"] <= given_up
    assert 0.5 * cpu_s < row["ns"] / 1e9 < cpu_s


def test_an_interrupt_is_nobodys_wake_up(perfetto: TraceProcessor, store: Store) -> None:
    ((by_tasks,),) = store.query(
        "SELECT count(*) FROM sleep WHERE NOT is_preempted AND waker_utid IS NOT NULL"
    )
    (row,) = perfetto.query(
        "SELECT count(*) AS n FROM thread_state JOIN thread AS waker ON waker.utid = waker_utid"
        " WHERE state = 'R' AND waker.tid > 0"
    )
    assert row["n"] == by_tasks


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


def test_chosen_requests_bound_the_trace(recording: Path, store: Store, export: Export) -> None:
    ((request_id, ts, end),) = store.query(
        "SELECT request_id, ts, ts + dur FROM request WHERE request_id = 1000"
    )
    with TraceProcessor(export(recording, "--request", request_id)) as perfetto:
        assert perfetto.losses() == []
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
