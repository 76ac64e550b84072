"""Recordings nobody would make on purpose: whatever the events say, loading keeps its word."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from rcp.analyzer.arrays.roles import parse_rules
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.inversions import find_inversions
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import load_in_memory, request_names
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.threads import paths_of
from rcp.fixtures.synth import FSYNC, READ, Synth
from rcp.probes.contract.events import RECORDS, UPROBE_REQUEST_NR, PolicyKind, WaitReason

FAR = 1 << 40
"""A stamp from another clock, or a damaged one: 18 minutes from the others."""

times = st.integers(0, 40) | st.just(FAR)  # few values, so that events meet; 0 is "unknown"
tids = st.integers(0, 5)
reasons = st.sampled_from(WaitReason)
stacks = st.sampled_from(
    [(), ("io_schedule", "folio_wait_writeback"), ("ep_poll",), ("worker_thread",)]
)
io_ids = st.integers(0, 6)


def events(draw: DrawFn, most: int) -> range:
    return range(draw(st.integers(0, most)))


@st.composite
def recordings(draw: DrawFn) -> Synth:
    """Stamps that run backwards, tids that recur, waits for ios and tasks nobody recorded."""
    rules = st.tuples(
        st.sampled_from(["foreground", "background"]),
        st.sampled_from(["comm:a*", "comm:b", "pid:3"]),
    )
    synth = Synth(draw(st.lists(rules, max_size=2)))
    for _ in events(draw, 7):
        synth.task(
            draw(st.sampled_from(["a1", "a2", "b", ""])),
            draw(tids),
            ts=draw(times),
            start_ns=draw(times),
            target=draw(st.booleans()),
            kthread=draw(st.booleans()),
            recorder=draw(st.booleans()),
            exited=draw(st.booleans()),
        )
    for _ in events(draw, 9):
        synth.sleep(
            draw(tids),
            *draw(st.tuples(times, times, times)),
            waker=draw(tids),
            io=draw(io_ids),
            interrupt=draw(st.booleans()),
            reason=draw(reasons),
            stack=draw(stacks),
            owner=draw(tids),
            ran=draw(tids),
            guessed=draw(st.booleans()),
            first_seen=draw(st.booleans()),
        )
    for _ in events(draw, 2):
        synth.preempt(draw(tids), draw(times), draw(times), ran=draw(tids))
    for _ in events(draw, 3):
        synth.interrupt(draw(io_ids), draw(times), draw(times), draw(tids))
    for number in events(draw, 5):
        synth.io(
            draw(tids),
            draw(times),
            draw(times),
            got=draw(times),
            issued=draw(times),
            op=draw(st.integers(0, 3)),
            size=draw(st.sampled_from([0, 4096])),
            io_id=number + 1,
        )
    for _ in events(draw, 5):
        nr = draw(st.sampled_from([FSYNC, READ, UPROBE_REQUEST_NR]))
        synth.request(draw(tids), draw(times), draw(times), nr=nr)
    journal(draw, synth)
    for _ in events(draw, 4):
        synth.origin(draw(io_ids), draw(tids), draw(times), parent=draw(io_ids))
        synth.served(draw(io_ids), draw(tids), draw(times), draw(times), owner=draw(tids))
    return synth


def journal(draw: DrawFn, synth: Synth) -> None:
    transactions = st.integers(1, 2)
    for _ in events(draw, 3):
        synth.commit(draw(tids), draw(times), draw(times), transaction=draw(transactions))
        synth.handle(
            draw(tids), *sorted((draw(times), draw(times))), transaction=draw(transactions)
        )
        synth.cause(draw(io_ids), draw(tids), ino=draw(st.integers(0, 2)), n_pages=draw(tids))
        synth.throttle(draw(tids), draw(times), pause_ms=draw(st.integers(-10, 10)))
        synth.lock_wait(draw(tids), draw(times), draw(times), owner=draw(tids))
        numbers = {name: draw(st.integers(0, 7)) for name in ("kind", "level", "source", "limit")}
        numbers |= {"tid": draw(tids), "io": draw(io_ids)}
        ts, end = sorted((draw(times), draw(times)))
        synth.policy(PolicyKind.MARK, ts, end, **numbers)


@given(recordings())
@settings(max_examples=150, deadline=None)
def test_segments_cover_every_finished_request_in_order(synth: Synth) -> None:
    rows = {record.name: synth.records(record) for record in RECORDS}
    trace = build_trace(rows, parse_rules(synth.meta), {})
    requests = trace.requests
    segments = paths_of(trace).segments
    assert (segments.dur > 0).all()
    for number in range(len(requests)):
        own = segments.request == number
        ts, end = segments.ts[own], (segments.ts + segments.dur)[own]
        if requests.dur[number] <= 0:
            assert not own.any()
            continue
        assert ts[0] == requests.ts[number]
        assert end[-1] == requests.ts[number] + requests.dur[number]
        assert (ts[1:] == end[:-1]).all()


@given(recordings())
@settings(max_examples=100, deadline=None)
def test_inversions_are_part_of_their_foreground_request(synth: Synth) -> None:
    rows = {record.name: synth.records(record) for record in RECORDS}
    trace = build_trace(rows, parse_rules(synth.meta), {})
    paths = paths_of(trace)
    found = find_inversions(trace, paths, io_causes(trace), request_names(synth.meta))
    assert ((found.confidence > 0) & (found.confidence <= 1 + 1e-6)).all()
    assert (found.dur > 0).all()
    total = np.bincount(found.request, found.dur, len(trace.requests))
    assert (total <= np.maximum(trace.requests.dur, 0)).all()
    roles = {trace.tasks.role[trace.requests.utid[number]] for number in found.request}
    assert roles <= {1}  # foreground


BROKEN = {
    "segments": """
        SELECT request_id FROM request LEFT JOIN segment USING (request_id)
        WHERE request.dur IS NOT NULL GROUP BY request_id, request.dur
        HAVING coalesce(sum(segment.dur), 0) <> request.dur
    """,
    "top of paths": """
        SELECT request_id FROM request LEFT JOIN request_wait USING (request_id)
        WHERE request.dur IS NOT NULL GROUP BY request_id, request.dur
        HAVING coalesce(sum(request_wait.dur), 0) <> request.dur
    """,
    "shares": "SELECT io_id FROM io_blame GROUP BY io_id HAVING abs(sum(share) - 1) > 1e-5",
    "dangling": """
        SELECT utid FROM (
            SELECT utid FROM sleep UNION ALL SELECT submitter_utid FROM io
            UNION ALL SELECT ran_utid FROM sleep UNION ALL SELECT utid FROM io_cause
            UNION ALL SELECT utid FROM throttle UNION ALL SELECT utid FROM policy_event
            UNION ALL SELECT utid FROM journal_handle
            UNION ALL SELECT utid FROM io_origin UNION ALL SELECT utid FROM io_served
            UNION ALL SELECT owner_utid FROM io_served
            UNION ALL SELECT culprit_utid FROM inversion UNION ALL SELECT utid FROM request
        ) ANTI JOIN task USING (utid) WHERE utid IS NOT NULL
    """,
    "parents": """
        SELECT request.request_id FROM request JOIN request AS parent
        ON parent.request_id = request.parent_request_id
        WHERE parent.utid <> request.utid OR parent.ts > request.ts
    """,
    "sleeps": "SELECT sleep_id FROM sleep WHERE dur < 0 OR run_ns < woken_ns",
}


def check(store: Store) -> None:
    """Every invariant of a store, and every view can be read."""
    for name, sql in BROKEN.items():
        assert store.query(sql) == [], name
    for (view,) in store.query("SELECT view_name FROM duckdb_views() WHERE NOT internal"):
        store.query(f"FROM {view}")


@given(recordings())
@settings(max_examples=12, deadline=None)
def test_stores_keep_their_invariants(synth: Synth) -> None:
    with TemporaryDirectory() as folder, load_in_memory(synth.write(Path(folder) / "x")) as store:
        check(store)


@given(recordings(), st.data())
@settings(max_examples=12, deadline=None)
def test_a_spool_cut_short_at_any_byte_loads(synth: Synth, data: st.DataObject) -> None:
    with TemporaryDirectory() as folder:
        spool = synth.write(Path(folder) / "x", finished=False)
        names = sorted(path.name for path in spool.iterdir() if path.name != "meta.json")
        for name in data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=4)):
            with (spool / name).open("r+b") as file:
                file.truncate(data.draw(st.integers(0, file.seek(0, 2))))
        with load_in_memory(spool) as store:
            check(store)
