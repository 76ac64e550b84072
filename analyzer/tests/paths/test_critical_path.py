"""Critical paths worked out by hand: events in, segments out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.reasons import REASONS
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.critical_path import MAX_DEPTH, critical_paths
from rcp.analyzer.paths.off_cpu import OffCpu
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows


def trace_of(synth: Synth) -> Trace:
    return build_trace({record.name: synth.records(record) for record in RECORDS}, [], {})


def test_chain_crosses_jbd2_and_the_interrupt_to_the_submitter(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    jbd2 = synth.task("jbd2/sda-8", kthread=True)
    bg = synth.task("checkpointer")
    synth.request(fg, 1000, 1100)
    synth.sleep(fg, 1010, 1090, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    io = synth.io(bg, 1030, 1084, got=1032, issued=1040)
    synth.sleep(jbd2, 1020, 1085, 1087, io=io, stack=["folio_wait_writeback"])
    synth.sleep(bg, 900, 910)  # it was watched
    assert segments(synth) == [
        (1000, 10, "cpu", "writer"),
        (1010, 10, "cpu", "jbd2/sda-8"),
        (1020, 10, "cpu", "checkpointer"),
        (1030, 2, "admission_tag", "io 1"),
        (1032, 8, "queue", "io 1"),
        (1040, 45, "device", "io 1"),
        (1085, 2, "runqueue", "jbd2/sda-8"),
        (1087, 3, "cpu", "jbd2/sda-8"),
        (1090, 10, "cpu", "writer"),
    ]


def test_woken_but_not_running_is_runqueue(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    io = synth.io(fg, 105, 140)
    synth.sleep(fg, 110, 140, 160, io=io)
    assert segments(synth) == [
        (100, 10, "cpu", "writer"),
        (110, 30, "device", "io 1"),
        (140, 20, "runqueue", "writer"),
        (160, 40, "cpu", "writer"),
    ]


def test_preempted_is_runqueue_only(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.preempt(fg, 120, 150)
    assert segments(synth) == [
        (100, 20, "cpu", "writer"),
        (120, 30, "runqueue", "writer"),
        (150, 50, "cpu", "writer"),
    ]


def test_before_the_first_record_nothing_is_known(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.first_seen(fg, 130)
    synth.preempt(fg, 150, 160)
    assert segments(synth) == [
        (100, 30, "unknown", "writer"),
        (130, 20, "cpu", "writer"),
        (150, 10, "runqueue", "writer"),
        (160, 40, "cpu", "writer"),
    ]


@pytest.mark.parametrize(
    ("stack", "kind"), [(["hrtimer_nanosleep"], "timer"), (["mystery"], "unknown")]
)
def test_interrupt_without_io_ends_the_chain(segments: Rows, stack: list[str], kind: str) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 180, interrupt=True, waker=7, stack=stack)
    assert segments(synth) == [
        (100, 10, "cpu", "writer"),
        (110, 70, kind, "writer"),
        (180, 20, "cpu", "writer"),
    ]


def test_io_that_was_not_recorded_leaves_unknown(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 190, io=99)
    assert segments(synth)[1] == (110, 80, "unknown", "writer")


def test_io_queued_after_the_wake_up_explains_nothing(segments: Rows) -> None:
    synth = Synth()
    fg, other = synth.task("writer", target=True), synth.task("other")
    synth.preempt(other, 1, 2)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 140, io=synth.io(other, 150, 190))
    assert segments(synth)[1] == (110, 30, "unknown", "writer")


def test_own_io_is_not_followed_to_its_submitter(ask: Ask) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 190, io=synth.io(fg, 130, 190))
    assert ask(synth, "SELECT count(*), max(depth) FROM edge") == [(1, 0)]


def test_time_before_the_own_io_was_queued_is_unknown(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    io = synth.io(fg, 130, 190)
    synth.sleep(fg, 110, 190, io=io)
    assert segments(synth)[1:3] == [(110, 20, "unknown", "writer"), (130, 60, "device", "io 1")]


def test_waker_without_any_record_is_unknown_but_one_with_a_later_record_ran(
    segments: Rows,
) -> None:
    synth = Synth()
    fg, ran, blind = (synth.task(name, target=name == "fg") for name in ("fg", "ran", "blind"))
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 120, waker=ran)
    synth.sleep(fg, 130, 140, waker=blind)
    synth.sleep(ran, 500, 510)
    assert [row for row in segments(synth) if row[3] != "fg"] == [
        (110, 10, "cpu", "ran"),
        (130, 10, "unknown", "blind"),
    ]


def test_event_belongs_to_the_thread_that_had_the_tid_then(segments: Rows) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.task("first", tid=7, start_ns=10)
    synth.task("second", tid=7, start_ns=150)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 120, waker=7)
    synth.sleep(fg, 160, 170, waker=7)
    synth.preempt(7, 50, 60)
    synth.preempt(7, 180, 190)
    assert [row[3] for row in segments(synth) if row[3] != "writer"] == ["first", "second"]


def test_two_tasks_that_wait_for_each_other_end_in_unknown(segments: Rows) -> None:
    synth = Synth()
    a, b = synth.task("a", target=True), synth.task("b")
    synth.request(a, 100, 200)
    synth.sleep(a, 110, 190, waker=b)
    synth.sleep(b, 105, 195, waker=a)  # contradicts: a slept when it should have woken b
    assert segments(synth) == [
        (100, 10, "cpu", "a"),
        (110, 80, "unknown", "b" if MAX_DEPTH % 2 == 0 else "a"),
        (190, 10, "cpu", "a"),
    ]


def test_unfinished_request_has_no_path(ask: Ask) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 0)
    assert ask(synth, "SELECT dur, cpu_dur, asleep_dur FROM request") == [(None, None, None)]
    assert ask(synth, "SELECT count(*) FROM segment") == [(0,)]


def test_request_totals_are_those_of_its_own_thread(ask: Ask) -> None:
    synth = Synth()
    fg, helper = synth.task("writer", target=True), synth.task("helper")
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 150, 155, waker=helper)
    sql = "SELECT dur, cpu_dur, runqueue_dur, asleep_dur, n_sleeps FROM request"
    assert ask(synth, sql) == [(100, 55, 5, 40, 1)]


def test_times_that_do_not_fit_a_key_are_ranked() -> None:
    """Days apart and many tasks: the same path as for small times."""
    paths = []
    for scale in (1, 10**13):
        synth = Synth()
        fg, helper = synth.task("fg", target=True), synth.task("helper")
        synth.request(fg, 100 * scale, 200 * scale)
        synth.sleep(fg, 110 * scale, 150 * scale, waker=helper)
        synth.sleep(helper, 120 * scale, 130 * scale, 135 * scale)
        trace = trace_of(synth)
        n_utids = 1 if scale == 1 else 1 << 20
        found = critical_paths(trace.sleeps, trace.ios, trace.requests, max(n_utids, 3)).segments
        paths.append(
            [
                (t // scale, d // scale, k)
                for t, d, k in zip(
                    found.ts.tolist(), found.dur.tolist(), found.kind.tolist(), strict=True
                )
            ]
        )
        assert (OffCpu(trace.sleeps, trace.ios, max(n_utids, 3))._clock._ranks is None) == (
            scale == 1
        )
    assert paths[0] == paths[1]
    assert [row[:2] for row in paths[0]] == [
        (100, 10),
        (110, 10),
        (120, 10),
        (130, 5),
        (135, 15),
        (150, 50),
    ]


TIDS = st.integers(1, 5)
TIMES = st.integers(1, 200)
SLEEP = st.tuples(
    TIDS, TIMES, TIMES, TIMES, st.integers(0, 6), st.integers(0, 4), st.booleans(), st.booleans()
)
IO = st.tuples(st.integers(0, 6), TIMES, TIMES, TIMES, TIMES)
REQUEST = st.tuples(TIDS, TIMES, TIMES)


def random_synth(
    sleeps: list[tuple[Any, ...]], ios: list[tuple[Any, ...]], requests: list[tuple[Any, ...]]
) -> Synth:
    synth = Synth()
    for submitter, *times in ios:
        q, g, d, c = times  # deliberately not sorted: damaged records must not break the walk
        synth.io(submitter, q, c, got=g, issued=d)
    for tid, a, b, c, waker, io, first_seen, interrupt in sleeps:
        ts, woken, run = sorted((a, b, c))
        synth.sleep(
            tid,
            0 if first_seen else ts,
            woken,
            run,
            waker=waker,
            io=io,
            interrupt=interrupt,
            first_seen=first_seen,
        )
    for tid, a, b in requests:
        synth.request(tid, min(a, b), max(a, b))
    return synth


@settings(max_examples=300, deadline=None)
@given(
    st.lists(SLEEP, max_size=25),
    st.lists(IO, max_size=6),
    st.lists(REQUEST, min_size=1, max_size=6),
)
def test_segments_of_a_request_are_disjoint_ordered_and_cover_it(
    sleeps: list[tuple[Any, ...]], ios: list[tuple[Any, ...]], requests: list[tuple[Any, ...]]
) -> None:
    trace = trace_of(random_synth(sleeps, ios, requests))
    paths = critical_paths(trace.sleeps, trace.ios, trace.requests, len(trace.tasks))
    segments, edges = paths.segments, paths.edges
    for at in range(len(trace.requests)):
        mine = segments.request == at
        ts, dur = segments.ts[mine], segments.dur[mine]
        assert (dur > 0).all()
        position = trace.requests.ts[at]
        for begin, length in zip(ts, dur, strict=True):
            assert begin == position
            position += length
        assert position == trace.requests.ts[at] + trace.requests.dur[at]
    assert (edges.parent < range(len(edges))).all()
    assert (edges.depth <= MAX_DEPTH).all()
    linked = segments.edge >= 0
    assert (segments.request[linked] == edges.request[segments.edge[linked]]).all()
    assert ((segments.depth == 0) == ~linked).all()
    assert set(segments.kind.tolist()) <= set(range(len(REASONS)))
