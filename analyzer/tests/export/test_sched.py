"""Sleeps in, the scheduler's events out."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from rcp.analyzer.db.store import Store
from rcp.analyzer.export import sched
from rcp.analyzer.export.sched import Name
from rcp.analyzer.export.threads import TID_LIMIT, threads
from rcp.analyzer.export.wire import Switch, Waking
from rcp.analyzer.loading.load import load_in_memory
from rcp.fixtures.synth import Synth

Load = Callable[[Synth], Store]
S, D, EXITED, PREEMPTED, RUNNABLE = 1, 2, 16, 256, 0


def sched_rows(store: Store) -> list[tuple[object, ...]]:
    """Switches as (ts, prev, state, next), wakings as (ts, waker, flags, "wakes", woken)."""
    names = {utid: Name(t.tid, t.comm) for utid, t in threads(store).items()}
    rows: list[tuple[object, ...]] = []
    for cpu, found in sched.by_cpu(sched.changes(store, 0, 1 << 60)):
        for event in sched.events(cpu, found, names, {}):
            if isinstance(event, Switch):
                rows.append((event.ts, event.prev, event.prev_state, event.next))
            else:
                assert isinstance(event, Waking)
                rows.append((event.ts, event.waker, event.flags, "wakes", event.tid))
    return rows


def test_a_sleep_is_two_switches_and_a_waking(load: Load) -> None:
    synth = Synth()
    a, b = synth.task("a", tid=10), synth.task("b", tid=20)
    synth.first_seen(a, 100)
    synth.sleep(b, 50, 120, 200, waker=a)
    synth.sleep(a, 200, 300, 310)
    assert sched_rows(load(synth)) == [
        (100, 0, 0, "wakes", 10),  # made up: a thread must be woken before it is seen running
        (100, 0, RUNNABLE, 10),
        (120, 10, 0, "wakes", 20),
        (200, 10, D, 20),  # one switch: a left at the moment b came
        (300, 0, 8, "wakes", 10),  # by an interrupt: not b's doing, which it interrupted
        (310, 20, S, 10),  # b's leaving was not recorded
    ]


def test_a_preempted_thread_is_not_woken(load: Load) -> None:
    synth = Synth()
    a, b = synth.task("a", tid=10), synth.task("b", tid=20)
    synth.first_seen(a, 100)
    synth.first_seen(b, 150)
    synth.preempt(a, 150, 180, ran=b)
    synth.sleep(b, 180, 400)
    assert [row for row in sched_rows(load(synth)) if row[3] != "wakes"] == [
        (100, 0, RUNNABLE, 10),
        (150, 10, PREEMPTED, 20),
        (180, 20, D, 10),
        (400, 10, S, 20),
    ]


def test_of_one_moment_the_wake_up_comes_before_the_switch(load: Load) -> None:
    synth = Synth()
    a, b = synth.task("a", tid=10), synth.task("b", tid=20)
    synth.first_seen(a, 100)
    synth.sleep(b, 50, 150, waker=a)
    synth.sleep(a, 150, 150, 300)  # woken before it had quite left
    assert sched_rows(load(synth))[2:] == [
        (150, 10, 0, "wakes", 20),
        (150, 10, D, 20),
        (150, 0, 8, "wakes", 10),
        (300, 20, S, 10),
    ]


def switches(synth: Synth, load: Load) -> list[tuple[object, ...]]:
    return [row for row in sched_rows(load(synth)) if row[3] != "wakes"]


def test_a_gap_belongs_to_who_ran_while_somebody_waited(load: Load) -> None:
    synth = Synth()
    a, recorder = synth.task("a", tid=10), synth.task("rcp-trace", tid=30, recorder=True)
    synth.first_seen(a, 100)
    synth.sleep(a, 150, 170, 200, ran=recorder)
    synth.sleep(a, 250, 300)
    assert switches(synth, load) == [
        (100, 0, RUNNABLE, 10),
        (150, 10, D, 0),
        (170, 0, RUNNABLE, 30),  # woken, a did not run: the recorder had the CPU by then
        (200, 30, S, 10),
        (250, 10, D, 0),  # nobody was seen: idle
        (300, 0, RUNNABLE, 10),
    ]


def test_who_preempts_has_the_whole_gap(load: Load) -> None:
    synth = Synth()
    a, recorder = synth.task("a", tid=10), synth.task("rcp-trace", tid=30, recorder=True)
    synth.first_seen(a, 100)
    synth.preempt(a, 150, 180, ran=recorder)
    assert switches(synth, load) == [
        (100, 0, RUNNABLE, 10),
        (150, 10, PREEMPTED, 30),
        (180, 30, S, 10),
    ]


def test_the_first_who_waited_tells_since_when_the_cpu_was_busy(load: Load) -> None:
    synth = Synth()
    a, b = synth.task("a", tid=10), synth.task("b", tid=20)
    recorder = synth.task("rcp-trace", tid=30, recorder=True)
    synth.first_seen(a, 100)
    synth.sleep(b, 50, 160, 230, ran=a)  # was woken first, but runs after a
    synth.sleep(a, 150, 190, 200, ran=recorder)
    synth.sleep(a, 230, 400)
    assert (160, 0, RUNNABLE, 30) in switches(synth, load)


def test_a_gap_in_which_nobody_waited_is_idle(load: Load) -> None:
    synth = Synth()
    a, recorder = synth.task("a", tid=10), synth.task("rcp-trace", tid=30, recorder=True)
    synth.first_seen(a, 100)
    synth.sleep(a, 150, 200, 200, ran=recorder)  # woken and run at once
    assert switches(synth, load)[1:] == [(150, 10, D, 0), (200, 0, RUNNABLE, 10)]


def test_an_exit_ends_the_last_run(load: Load) -> None:
    synth = Synth()
    a = synth.task("a", tid=10)
    synth.task("a", tid=10, ts=180, exited=True)
    synth.first_seen(a, 100)
    assert sched_rows(load(synth))[-1] == (180, 10, EXITED, 0)


def test_a_window_has_what_overlaps_it(load: Load) -> None:
    synth = Synth()
    a = synth.task("a", tid=10)
    synth.first_seen(a, 100)
    synth.sleep(a, 200, 300)
    synth.sleep(a, 400, 500)
    times = [change.ts for change in sched.changes(load(synth), 350, 450)]
    assert times == [300, 400]  # it ran from 300 to 400, and slept on


def test_the_second_thread_of_a_tid_is_shown_under_another(load: Load) -> None:
    synth = Synth()
    synth.task("old", tid=7, start_ns=100)
    synth.task("new", tid=7, start_ns=500, ts=500)
    synth.task("helper", tid=8, pid=7, start_ns=600, ts=600)
    shown = {t.comm: (t.tid, t.pid) for t in threads(load(synth)).values()}
    assert shown["old"] == (7, 7)
    assert shown["new"] == (TID_LIMIT + 7, TID_LIMIT + 7)
    assert shown["helper"] == (8, TID_LIMIT + 7)


def test_every_run_of_a_real_recording_is_told(fixtures_dir: Path, tmp_path: Path) -> None:
    from rcp.probes.contract.spool import unpack

    spool = unpack(fixtures_dir / "recordings/wal-vs-checkpoint.spool.tar.xz", tmp_path)
    with load_in_memory(spool) as store:
        names = {utid: Name(t.tid, t.comm) for utid, t in threads(store).items()}
        ((n_sleeps, n_wakings),) = store.query(
            "SELECT count(*), count(*) FILTER (NOT is_preempted) FROM sleep"
        )
        recorder = {tid for (tid,) in store.query("SELECT tid FROM task WHERE is_recorder")}
        all_events = [
            event
            for cpu, found in sched.by_cpu(sched.changes(store, 0, 1 << 60))
            for event in sched.events(cpu, found, names, {})
        ]
    switches = [event for event in all_events if isinstance(event, Switch)]
    assert len(all_events) - len(switches) == n_wakings
    assert sum(1 for switch in switches if switch.next not in {0, *recorder}) == n_sleeps
    assert all(a.next == b.prev for a, b in pairwise(switches))
