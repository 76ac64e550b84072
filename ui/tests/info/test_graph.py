"""Events in, edges of the wait-for graph out: by hand, and conserved for whatever events."""

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.loading.opening import open_recording
from rcp.fixtures.explored import durations, journal, one_request
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import SOCKET_REQUEST_NR, WaitReason
from rcp.ui.info import graph, inversions, population
from rcp.ui.info.graph import Asked, Hop
from rcp.ui.info.graph_fold import COLUMN_MAX, LEVELS_MAX, OTHERS, fold
from rcp.ui.queries import query
from rcp.ui.source import Recording, demo_recording, prepare_inversions, prepare_requests

Load = Callable[[Synth], Store]
RECORDINGS = demo_recording().parent
ALL = Asked("foreground", "", "all")
WRITER, JBD2 = "request:foreground:fsync by writer", "task:kernel:jbd2/nvme*n*-*"
HOLDER, ITS_IO = "task:background:checkpointer", "io:background:checkpointer"


def test_time_goes_from_who_waited_to_what_ended_it(load: Load) -> None:
    # writer [100, 900) ← jbd2 [120, 860) ← checkpointer [150, 800) ← its io [200, 780), issued at
    # 300, of a request of 1000: the writer ran for 200, jbd2 for 20 + 40, the checkpointer for 30 +
    # 60 before and after its sleep. It slept before it queued the io at 200, woken by that io.
    found = graph.hops(load(journal()), ALL)
    assert sorted(found) == [
        Hop(0, WRITER, "wait:journal_commit:", 800),
        Hop(1, "wait:journal_commit:", JBD2, 800),
        Hop(2, JBD2, "wait:journal_handle:", 740),
        Hop(3, "wait:journal_handle:", HOLDER, 740),
        Hop(4, HOLDER, "wait:page_writeback:", 650),
        Hop(5, "wait:page_writeback:", ITS_IO, 600),
        Hop(5, "wait:page_writeback:", "task:unknown:?", 50),
        Hop(6, ITS_IO, "wait:device:nvme0n1", 500),
        Hop(6, ITS_IO, "wait:queue:nvme0n1", 100),
    ]


def test_a_wait_for_a_cpu_leads_to_who_had_it(load: Load) -> None:
    synth = Synth([("background", "comm:hog*")])
    writer = synth.task("writer", tid=10, target=True)
    hogs = [synth.task(f"hog-{at}", tid=20 + at) for at in range(2)]
    synth.request(writer, 1000, 2000)
    for at, hog in enumerate(hogs):
        synth.sleep(hog, 1, 2)
        synth.preempt(writer, 1100 + at * 400, 1300 + at * 400, ran=hog)
    store = load(synth)
    # Threads whose names differ by a number are one node.
    assert graph.hops(store, ALL) == [
        Hop(0, WRITER, "wait:runqueue:", 400),
        Hop(1, "wait:runqueue:", "task:background:hog-*", 400),
    ]
    assert graph.totals(store, ALL) == graph.Waiting(1, 1000, 600)


def test_a_wait_that_no_work_ended_ends_at_what_was_waited_for(load: Load) -> None:
    synth = durations(1000)
    synth.sleep(10, 100, 700, interrupt=True, stack=["ep_poll"])
    assert graph.hops(load(synth), ALL) == [Hop(0, WRITER, "wait:poll:", 600)]


@pytest.mark.parametrize(
    ("slowest", "n", "waiting_ns"),
    [("all", 4, 1000), ("10", 1, 700), ("1", 1, 700), ("0.1", 1, 700)],
)
def test_the_slowest_are_chosen_by_percentile(
    load: Load, slowest: str, n: int, waiting_ns: int
) -> None:
    synth = durations(100, 100, 200, 800)
    holder = synth.task("holder", tid=20)
    for begin, dur_ns in ((1000, 100), (2000, 200), (3000, 700)):
        synth.sleep(10, begin, begin + dur_ns, waker=holder, reason=WaitReason.LOCK)
    found = graph.totals(load(synth), Asked("foreground", "", slowest))
    assert (found.n, found.waiting_ns) == (n, waiting_ns)


def test_a_pattern_chooses_the_requests_it_delayed(load: Load) -> None:
    synth = one_request()
    synth.request(10, 5000, 9000)
    synth.sleep(10, 5500, 6000, interrupt=True, stack=["ep_poll"])
    store = load(synth)
    (pattern,) = inversions.patterns(store, "foreground", "", inversions.Filter())
    of = ALL._replace(pattern=pattern.key)
    assert [hop.target for hop in graph.hops(store, of)] == ["wait:lock:", HOLDER]
    assert graph.totals(store, of).n == 1
    assert graph.hops(store, ALL._replace(pattern="no such")) == []


def test_an_edge_leads_to_its_requests(load: Load) -> None:
    store = load(journal(2))
    members = tuple(hop for hop in graph.hops(store, ALL) if hop.source == ITS_IO)
    found = graph.behind(store, ALL, members)
    assert found.n == 2
    assert [(one.request_id, one.waited_ns) for one in found.found] == [(1, 600), (2, 600)]
    assert graph.behind(store, ALL, ()) == graph.Behind(0, [])


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.spool.tar.xz")), ids=lambda at: at.stem)
def test_parts_that_are_kept_give_the_same_as_those_found_anew(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answers() -> list[object]:
        found: list[object] = []
        for asked in [Asked(*of, slowest) for of in of_whom for slowest in ("all", "10", "1")]:
            hops = graph.hops(store, asked)
            found += [hops, graph.totals(store, asked)]
            found += [graph.behind(store, asked, (hop,)) for hop in (hops[0], hops[-1])]
        return found

    def is_kept() -> bool:
        ((kept, _),) = store.query(query("graph/kept"))
        return bool(kept)

    with open_recording(path) as store:
        prepare_requests(store)
        prepare_inversions(store)
        of_whom = [("", ""), *{(kind.role, kind.name) for kind in population.kinds(store)}]
        with monkeypatch.context() as patched:
            patched.setattr(graph, "_KEPT_MAX", 0)
            assert not graph.keep_parts(store)
            anew = answers()
            assert not is_kept()
        assert graph.keep_parts(store)
        assert answers() == anew
        assert is_kept()


@pytest.mark.parametrize(
    ("slowest", "is_kept"), [("all", True), ("10", True), ("1", False), ("0.1", False)]
)
def test_questions_about_many_requests_have_the_parts_kept(slowest: str, is_kept: bool) -> None:
    recording = Recording(demo_recording())
    graph.ask_hops(recording.ask_inversions, ALL._replace(slowest=slowest))
    ((found, n_parts),) = recording.ask_uncached(lambda store: store.query(query("graph/kept")))
    assert found == is_kept
    if is_kept:
        count = "SELECT count(*) FROM digest.part"
        ((n_kept,),) = recording.ask_uncached(lambda store: store.query(count))
        assert 0 < n_kept <= n_parts
    recording.close()


def test_without_memory_for_the_parts_each_question_finds_its_own(
    load: Load, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, write = load(journal(2)), Store.write

    def full(store: Store, sql: str, *parameters: Any) -> None:
        write(store, sql, *parameters)
        if "CREATE TABLE digest.part" in sql:
            raise StoreError("there is not enough memory.")

    expected = graph.hops(store, ALL)
    monkeypatch.setattr(Store, "write", full)
    assert not graph.keep_parts(store)
    assert graph.hops(store, ALL) == expected
    monkeypatch.undo()
    assert graph.keep_parts(store), "it can be tried again"


def test_a_nested_request_is_in_the_graph_of_its_kind(load: Load) -> None:
    synth = one_request()
    synth.request(10, 0, 9_000_000, nr=SOCKET_REQUEST_NR)
    store = load(synth)
    # One that encloses another of another name; both are kept, but only one of them is outermost.
    everyone, fsyncs = (graph.totals(store, ALL._replace(kind=kind)).n for kind in ("", "fsync"))
    assert (everyone, fsyncs) == (1, 1)
    assert {hop.source for hop in graph.hops(store, ALL) if hop.level == 0} != {WRITER}
    of_kind = graph.hops(store, ALL._replace(kind="fsync"))
    assert {hop.source for hop in of_kind if hop.level == 0} == {WRITER}


def wide(n_tasks: int) -> list[Hop]:
    """One reason and so many tasks below it, of 1, 2, … ns."""
    total_ns = n_tasks * (n_tasks + 1) // 2
    hops = [Hop(0, WRITER, "wait:lock:", total_ns)]
    return hops + [
        Hop(1, "wait:lock:", f"task:background:{at}", at) for at in range(1, n_tasks + 1)
    ]


def deep(n_levels: int) -> list[Hop]:
    """A chain of so many edges."""
    nodes = (WRITER, *("wait:lock:", "task:background:a") * n_levels)
    return [Hop(at, nodes[at], nodes[at + 1], 1) for at in range(n_levels)]


def test_small_nodes_are_put_together_and_counted() -> None:
    found = fold(wide(40))
    others = found.node(2, OTHERS)
    n_others = 40 - COLUMN_MAX
    assert (others.name, others.n_folded) == (f"{n_others} others", n_others)
    assert others.in_ns == sum(range(1, n_others + 1))
    assert found.n_folded == n_others
    assert sum(len(edge.members) for edge in found.edges) == 41


def test_one_small_node_keeps_its_name() -> None:
    assert OTHERS not in [node.key for node in fold(wide(COLUMN_MAX + 1)).nodes]


def test_long_chains_end_at_the_last_column_and_are_counted() -> None:
    found = fold(deep(LEVELS_MAX + 3))
    assert max(node.level for node in found.nodes) == LEVELS_MAX
    assert (found.n_undrawn, found.undrawn_ns) == (3, 1)


COMMS = ("writer", "jbd2/sda-8", "checkpointer", "kworker/0:1", "kworker/1:2")
TIMES = st.integers(0, 40)
SLEEP = st.tuples(
    st.integers(0, len(COMMS) - 1),
    TIMES,
    TIMES,
    TIMES,
    st.integers(0, len(COMMS)),
    st.integers(0, 4),
    st.sampled_from(list(WaitReason)),
    st.booleans(),
)
IO = st.tuples(st.integers(0, len(COMMS) - 1), TIMES, TIMES, TIMES, TIMES)
REQUEST = st.tuples(st.integers(0, 1), TIMES, TIMES)


def whatever(sleeps: list[tuple], ios: list[tuple], requests: list[tuple]) -> Synth:  # type: ignore[type-arg]
    """A recording of these events, in which waits form chains, cycles and gaps."""
    synth = Synth([("background", "comm:checkpointer")])
    tids = [
        synth.task(comm, tid=10 + at, target=at < 2, kthread=at in (1, 3))
        for at, comm in enumerate(COMMS)
    ]
    for submitter, *times in ios:
        queued, got, issued, completed = sorted(times)
        synth.io(tids[submitter], queued, completed + 1, got=got, issued=issued)
    for who, ts, woken, run, waker, io, reason, was_interrupt in sleeps:
        synth.sleep(
            tids[who],
            *sorted((ts, woken, run)),
            waker=tids[waker] if waker < len(tids) else 0,
            io=io if io <= len(ios) else 0,
            interrupt=was_interrupt,
            reason=reason,
            ran=tids[(who + 1) % len(tids)],
        )
    for who, ts, end in requests:
        synth.request(tids[who], min(ts, end), max(ts, end) + 1)
    return synth


@settings(max_examples=40)
@given(
    st.lists(SLEEP, max_size=12),
    st.lists(IO, max_size=4),
    st.lists(REQUEST, max_size=4, min_size=1),
)
def test_time_is_conserved(sleeps: list, ios: list, requests: list) -> None:  # type: ignore[type-arg]
    asked = Asked("", "", "all")
    with TemporaryDirectory() as folder:
        store = load_in_memory(whatever(sleeps, ios, requests).write(Path(folder) / "x.spool"))
        try:
            prepare_requests(store)
            prepare_inversions(store)
            anew = store.rows(Hop, query("graph/edges"), ["", "", 0, None])
            found = graph.hops(store, asked)
            assert found == anew
            total = graph.totals(store, asked)
            outer = "SELECT request_id FROM digest.chosen('', '')"
            ((waited_ns,),) = store.query(
                "SELECT coalesce(sum(dur), 0)::BIGINT FROM request_wait "
                f"WHERE reason <> 'cpu' AND request_id IN ({outer})"
            )
            ((ran_ns,),) = store.query(
                "SELECT coalesce(sum(dur), 0)::BIGINT FROM segment "
                f"WHERE kind = 'cpu' AND depth > 0 AND request_id IN ({outer})"
            )
        finally:
            store.close()
    # What flows out of the requests is the time in which their own threads did not run.
    assert sum(hop.dur_ns for hop in found if hop.level == 0) == total.waiting_ns == waited_ns
    assert waited_ns <= total.dur_ns
    # What reached the threads that ended waits and went no further is the time that they ran.
    known = [hop for hop in found if "task:unknown:?" not in hop]
    reached = [h for h in known if h.target.startswith("task") and h.source != "wait:runqueue:"]
    left = [hop for hop in known if hop.source.startswith("task")]
    assert sum(h.dur_ns for h in reached) - sum(hop.dur_ns for hop in left) == ran_ns
    drawn = fold(found)
    assert drawn.waiting_ns == waited_ns
    for hops in (found, [edge.hop for edge in drawn.edges]):
        into: dict[tuple[int, str], int] = defaultdict(int)
        out: dict[tuple[int, str], int] = defaultdict(int)
        for hop in hops:
            assert hop.dur_ns > 0
            into[hop.level + 1, hop.target] += hop.dur_ns
            out[hop.level, hop.source] += hop.dur_ns
        for (level, key), dur_ns in out.items():
            assert level == 0 or dur_ns <= into[level, key]
