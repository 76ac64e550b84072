"""Threads that change their names: roles, culprits and paths go by who they were at the time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.roles import RoleRule
from rcp.analyzer.arrays.trace import Times, Trace
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.segments import Edges
from rcp.analyzer.paths.threads import paths_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
MS = 1_000_000


def test_a_background_thread_of_the_foregrounds_process_is_a_culprit(ask: Ask) -> None:
    """It names itself after it was created, as every pthread does, and holds a mutex."""
    synth = Synth(ROLES)
    fg = synth.task("fg-server", tid=10, ts=1)
    helper = synth.task("fg-server", tid=11, pid=10, ts=100 * MS, start_ns=100 * MS)
    synth.task("bg-compaction", helper, pid=10, ts=105 * MS, start_ns=100 * MS)
    synth.request(fg, 150 * MS, 200 * MS)
    synth.sleep(fg, 160 * MS, 190 * MS, waker=helper, reason=WaitReason.FUTEX, owner=helper)
    found = ask(synth, "SELECT kind, culprit, role, dur, chain FROM inversion")
    assert found == [
        ("lock", "bg-compaction", "background", 30 * MS, "fsync → futex (bg-compaction)")
    ]


def archive_command() -> Synth:
    """A server forks at 110 ms; the child executes a program at 140 ms and ends at 190 ms."""
    synth = Synth(ROLES)
    fg = synth.task("fg-server", tid=10, ts=1)
    child = synth.task("fg-server", tid=20, ts=110 * MS, start_ns=110 * MS)
    synth.first_seen(child, 110 * MS)
    synth.task("bg-cp", child, ts=140 * MS, start_ns=110 * MS)
    synth.task("bg-cp", child, ts=190 * MS, start_ns=110 * MS, exited=True)
    synth.request(fg, 100 * MS, 200 * MS)
    synth.sleep(fg, 110 * MS, 190 * MS, waker=child, stack=["do_wait"])
    return synth


def test_a_program_that_a_server_executes_has_its_own_role(ask: Ask) -> None:
    chain = "SELECT kind, culprit, chain FROM inversion"
    assert ask(archive_command(), chain) == [
        ("condition", "bg-cp", "fsync → condition (bg-cp)"),
    ]


def test_a_segment_is_cut_where_the_name_changed(ask: Ask) -> None:
    sql = "SELECT (ts - 100000000) // 1000000, dur // 1000000, kind, comm FROM segment"
    assert ask(archive_command(), f"{sql} JOIN task USING (utid) ORDER BY ts") == [
        (0, 10, "cpu", "fg-server"),
        (10, 30, "cpu", "fg-server"),
        (40, 50, "cpu", "bg-cp"),
        (90, 10, "cpu", "fg-server"),
    ]


def test_a_thread_is_followed_across_a_change_of_its_name(ask: Ask) -> None:
    """Its sleep before the change is no time on a CPU."""
    synth = Synth(ROLES)
    fg = synth.task("fg-server", tid=10, ts=1)
    helper = synth.task("fg-helper", tid=20, ts=1)
    synth.first_seen(helper, 2)
    synth.request(fg, 100 * MS, 200 * MS)
    synth.sleep(helper, 120 * MS, 130 * MS, stack=["do_nanosleep"])
    synth.task("bg-helper", helper, ts=150 * MS)
    synth.sleep(fg, 110 * MS, 190 * MS, waker=helper, reason=WaitReason.LOCK)
    sql = "SELECT kind, dur // 1000000, comm FROM segment LEFT JOIN task USING (utid)"
    assert ask(synth, f"{sql} WHERE depth > 0 ORDER BY ts") == [
        ("cpu", 10, "fg-helper"),
        ("timer", 10, "fg-helper"),
        ("cpu", 20, "fg-helper"),
        ("cpu", 40, "bg-helper"),
    ]


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ([(130, "bg-vacuum"), (170, "fg-helper")], [("bg-vacuum", 40)]),
        ([(185, "bg-vacuum")], [("bg-vacuum", 5)]),
        ([(115, "bg-vacuum")], [("bg-vacuum", 75)]),
        ([(130, "bg-one"), (150, "bg-two")], [("bg-one", 20), ("bg-two", 40)]),
        ([(60, "bg-vacuum"), (90, "fg-helper")], []),
        ([(192, "bg-vacuum")], []),
    ],
)
def test_who_holds_a_lock_is_blamed_for_the_time_under_its_name(
    ask: Ask, names: list[tuple[int, str]], found: list[tuple[str, int]]
) -> None:
    """A helper of the foreground holds a lock from 110 to 190 ms, and changes its name."""
    synth = Synth(ROLES)
    fg = synth.task("fg-server", tid=10, ts=1)
    helper = synth.task("fg-helper", tid=20, ts=1)
    synth.first_seen(helper, 2)
    for at, name in names:
        synth.task(name, helper, ts=at * MS)
    synth.request(fg, 100 * MS, 200 * MS)
    synth.sleep(fg, 110 * MS, 190 * MS, waker=helper, reason=WaitReason.LOCK)
    sql = "SELECT comm, dur // 1000000 FROM inversion JOIN task ON utid = culprit_utid"
    assert ask(synth, f"{sql} ORDER BY inversion.ts") == found


def test_what_a_renamed_holder_waits_for_belongs_to_its_name_then(ask: Ask) -> None:
    synth = Synth(ROLES)
    fg = synth.task("fg-server", tid=10, ts=1)
    helper, other = synth.task("fg-helper", tid=20, ts=1), synth.task("fg-other", tid=30, ts=1)
    synth.sleep(other, 1, 2)
    synth.task("bg-vacuum", helper, ts=150 * MS)
    synth.request(fg, 100 * MS, 200 * MS)
    for begin in (120, 160):
        synth.sleep(helper, begin * MS, (begin + 10) * MS, waker=other, reason=WaitReason.LOCK)
    synth.sleep(fg, 110 * MS, 190 * MS, waker=helper, reason=WaitReason.LOCK)
    sql = "SELECT parent.waker_utid = edge.waiter_utid, comm, edge.dur // 1000000 FROM edge"
    sql = f"{sql} JOIN edge AS parent ON parent.edge_id = edge.parent_edge_id"
    sql = f"{sql} JOIN task ON task.utid = edge.waiter_utid ORDER BY edge.ts"
    assert ask(synth, sql) == [(True, "fg-helper", 10), (True, "bg-vacuum", 10)]
    assert ask(synth, "SELECT culprit, dur // 1000000 FROM inversion") == [("bg-vacuum", 40)]


TIMES = st.integers(1, 40).map(lambda step: step * 2 * MS)
TID = st.integers(1, 4)
SLEEP = st.tuples(TID, st.tuples(TIMES, TIMES, TIMES), st.integers(0, 4), st.integers(0, 3))
CHANGE = st.tuples(TID, TIMES, st.sampled_from(("fg", "bg", "other")))


def build(sleeps: list[Any], ios: list[Any], changes: list[Any]) -> Trace:
    synth = Synth()
    for tid in range(1, 5):
        synth.task(f"task{tid}", tid, ts=1)
    for tid, ts, name in changes:
        synth.task(f"{name}{tid}", tid, ts=ts)
    for submitter, a, b in ios:
        synth.io(submitter, min(a, b), max(a, b))
    for tid, times, waker, io in sleeps:
        ts, woken, run = sorted(times)
        synth.sleep(tid, ts, woken, run, waker=waker, io=io, ran=waker)
    synth.request(1, 10 * MS, 70 * MS)
    rules = [RoleRule("background", "comm:bg*")]
    return build_trace({r.name: synth.records(r) for r in RECORDS}, rules, {})


def whole_edges(edges: Edges) -> Times:
    """Return the positions of edges that are no later piece of the one before."""
    same = [
        getattr(edges, name)[1:] == getattr(edges, name)[:-1]
        for name in ("request", "sleep", "depth", "waiter")
    ]
    follows = (edges.ts + edges.dur)[:-1] == edges.ts[1:]
    later = np.logical_and.reduce(same) & follows
    return np.flatnonzero(np.r_[True, ~later][: len(edges)])


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.lists(SLEEP, min_size=2, max_size=15),
    st.lists(st.tuples(TID, TIMES, TIMES), max_size=3),
    st.lists(CHANGE, min_size=1, max_size=5),
)
def test_names_change_who_is_named_but_no_path(
    sleeps: list[Any], ios: list[Any], changes: list[Any]
) -> None:
    named, plain = build(sleeps, ios, changes), build(sleeps, ios, [])
    found, expected = paths_of(named), paths_of(plain)
    tid, tasks = plain.tasks.tid, named.tasks
    edges, segments = found.edges, found.segments
    whole = whole_edges(edges)
    for name in ("waiter", "waker"):
        now, before = getattr(edges, name)[whole], getattr(expected.edges, name)
        assert ((now >= 0) == (before >= 0)).all()
        assert (tasks.tid[now[now >= 0]] == tid[before[before >= 0]]).all()
    of_edge = np.searchsorted(whole, np.arange(len(edges)), "right") - 1
    assert (np.bincount(of_edge, edges.dur, len(whole)) == expected.edges.dur).all()
    has_parent = edges.parent >= 0
    assert (edges.parent[has_parent] < np.flatnonzero(has_parent)).all()
    assert (of_edge[edges.parent[has_parent]] == expected.edges.parent[of_edge[has_parent]]).all()
    # Each moment of a request has the same thread, kind and edge.
    assert segments.dur.sum() == expected.segments.dur.sum()
    assert (segments.dur > 0).all()
    at = np.searchsorted(expected.segments.ts, segments.ts, "right") - 1
    for name in ("kind", "depth", "io"):
        assert (getattr(segments, name) == getattr(expected.segments, name)[at]).all()
    assert ((segments.edge >= 0) == (expected.segments.edge[at] >= 0)).all()
    on_edge = np.flatnonzero(segments.edge >= 0)
    edge = segments.edge[on_edge]
    assert (of_edge[edge] == expected.segments.edge[at[on_edge]]).all()
    assert (edges.ts[edge] <= segments.ts[on_edge]).all()
    some = segments.utid >= 0
    assert (tasks.tid[segments.utid[some]] == tid[expected.segments.utid[at[some]]]).all()
    # Nobody appears outside the time in which he had the name.
    until = np.full(len(tasks), np.iinfo(np.int64).max)
    same = np.flatnonzero(tasks.thread[1:] == tasks.thread[:-1])
    until[same] = tasks.since_ns[same + 1]
    utid = segments.utid[some]
    begin, end = segments.ts[some], (segments.ts + segments.dur)[some]
    assert (end <= until[utid]).all()
    assert ((begin >= tasks.since_ns[utid]) | (tasks.thread[utid] == utid)).all()
