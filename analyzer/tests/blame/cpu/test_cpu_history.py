"""Who had each CPU, against a table with a column for each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.covers import Covers
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.cpu.history import CpuHistory
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1_000
ROLES = [("background", "comm:backup*"), ("foreground", "comm:client")]
N_CPUS, N_TASKS = 2, 4
IDLE, COPY = -1, N_TASKS
"""COPY is never recorded, as a recorder is not, but named as who ran before others."""
MOMENTS = 30
who = st.integers(IDLE, COPY)


def schedule(wanted: list[tuple[int, int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Return who is on each CPU at each moment: on one at most. In the end everybody gets one."""
    table = np.full((N_CPUS, MOMENTS + N_TASKS), IDLE)
    for at, (first, second) in enumerate(wanted):
        table[:, at] = (first, second if second != first else IDLE)
    for task in range(N_TASKS):
        table[0, MOMENTS + task] = task
    return table


def recorded(
    table: np.ndarray[tuple[int, int], np.dtype[np.int64]], lost: frozenset[int] = frozenset()
) -> Synth:
    """Return the recording; the records of these numbers are lost."""
    synth, number = Synth(ROLES), -1
    tids = [synth.task(f"task-{number}") for number in range(N_TASKS)]
    names = {IDLE: 0, COPY: synth.task("copy")} | dict(enumerate(tids))
    left: dict[int, int] = {}
    for at in range(table.shape[1]):
        for cpu, task in enumerate(table[:, at].tolist()):
            before = int(table[cpu, at - 1]) if at else IDLE
            if task in (IDLE, COPY, before):
                continue
            ran, now, number = names[before], (at + 1) * US, number + 1
            if number in lost:
                continue
            if task in left:
                synth.sleep(tids[task], left[task], now, ran=ran, cpu=cpu)
            else:
                synth.sleep(tids[task], 0, now, ran=ran, cpu=cpu, first_seen=True)
        for task in set(table[:, at].tolist()) - {IDLE, COPY}:
            left[task] = (at + 2) * US
    return synth


schedules = st.lists(st.tuples(who, who), min_size=MOMENTS, max_size=MOMENTS)


def history_of(trace: Trace) -> CpuHistory:
    n_tasks = len(trace.tasks)
    always = Covers.of(np.zeros(1, np.int64), np.zeros(1, np.int64), np.full(1, 10**9))
    wanted, cpus = np.ones(n_tasks, bool), np.arange(N_CPUS)
    return CpuHistory.of(trace.sleeps, trace.tasks, wanted, cpus, always)


@given(schedules, st.frozensets(st.integers(0, MOMENTS)))
def test_one_has_a_cpu_at_a_time_whatever_was_lost(
    wanted: list[tuple[int, int]], lost: frozenset[int]
) -> None:
    """And not before the moment at which it got it again, by the records that are left."""
    trace = trace_of(recorded(schedule(wanted), lost))
    sleeps, history = trace.sleeps, history_of(trace)
    for utid, cpu, run in zip(sleeps.utid, sleeps.cpu, sleeps.run, strict=True):
        own = (history.utid == utid) & (history.cpu == cpu)
        assert not ((history.begin < run) & (history.end > run) & own).any()
    same_cpu = history.cpu[1:] == history.cpu[:-1]
    assert (history.begin[1:] >= history.end[:-1])[same_cpu].all()


@given(schedules)
def test_each_moment_of_a_cpu_is_of_who_had_it(wanted: list[tuple[int, int]]) -> None:
    table = schedule(wanted)
    synth = recorded(table)
    trace = trace_of(synth)
    tasks = trace.tasks
    history = history_of(trace)
    had = np.full_like(table, IDLE)
    for cpu, begin, end, utid in zip(
        history.cpu, history.begin, history.end, history.utid, strict=True
    ):
        comm = tasks.comm[utid]
        place = had[cpu, begin // US - 1 : end // US - 1]
        assert (place == IDLE).all()
        place[:] = COPY if comm == "copy" else int(comm.removeprefix("task-"))
    # Of an idle CPU that the unrecorded one got later, the moment is not known.
    same = (had == table) | ((table == IDLE) & (had == COPY))
    # Nor is when it left one that nobody recorded got afterwards.
    same |= (table == COPY) & (had == IDLE)
    assert same[:, :MOMENTS].all()


@pytest.mark.parametrize("other", [None, "rcp-trace"])
def test_all_turns_of_a_long_wait_count(inversions: Rows, other: str | None) -> None:
    """Two of the background hand over to each other 200 times, once by way of somebody else.

    That is the recorder, or nobody: it has the CPU for 10 us, and no record.
    """
    synth = Synth(ROLES)
    client = synth.task("client", target=True)
    pair = [synth.task("backup-1"), synth.task("backup-2")]
    recorder = synth.task(other) if other else 0
    synth.request(client, 90 * US, 5000 * US)
    synth.preempt(client, 100 * US, 4100 * US, ran=pair[1])
    for turn in range(202):
        begin = (80 + turn * 20) * US
        late = 10 * US if turn == 150 else 0
        ran = recorder if late else pair[turn % 2 - 1]
        synth.sleep(pair[turn % 2], begin - 20 * US, begin + late, ran=ran)
    assert [(row[0], row[2]) for row in inversions(synth)] == [("cpu", 3990 * US)]


def crowd(synth: Synth, turns: list[tuple[int, int, int]], *, late: int = 0) -> int:
    """A client waits for its CPU in [100, 4100) us; (task, begin, end) of those that have it."""
    client = synth.task("client", target=True)
    synth.request(client, 90 * US, 5000 * US)
    synth.preempt(client, 100 * US, 4100 * US, ran=turns[-1][0])
    left: dict[int, int] = {}
    for before, (task, begin, end) in zip([(0, 0, 0), *turns], turns, strict=False):
        synth.sleep(task, left.get(task, 1), (begin + late) * US, ran=before[0])
        left[task] = end * US
    for task, at in left.items():
        synth.sleep(task, at, 6000 * US)
    return client


def test_who_had_most_of_the_cpu_is_the_culprit(inversions: Rows) -> None:
    """One has it for 3300 us, then two others take turns of 20 us."""
    synth = Synth(ROLES)
    one, two, three = (synth.task(f"backup-{number}") for number in (1, 2, 3))
    turns = [(one, 100, 3400)]
    turns += [(two if n % 2 else three, 3400 + 20 * n, 3420 + 20 * n) for n in range(35)]
    crowd(synth, turns)
    assert [row[:3] for row in inversions(synth)] == [("cpu", "backup-1", 4000 * US)]


@pytest.mark.parametrize(("peer", "blamed_us"), [("x-1", 700), ("x-2", 3660)])
def test_of_others_all_turns_but_those_of_a_peer_count(peer: str, blamed_us: int) -> None:
    """Nobody but the client has a role; the peer has once sent it something."""
    synth = Synth([("foreground", "comm:client")])
    tasks = {name: synth.task(name) for name in ("x-1", "x-2", "x-3")}
    turns = [(tasks["x-1"], 100, 3400)]
    turns += [(tasks["x-2" if n % 2 else "x-3"], 3400 + 20 * n, 3420 + 20 * n) for n in range(35)]
    client = crowd(synth, turns)
    synth.sleep(client, 10 * US, 20 * US, waker=tasks[peer], stack=["pipe_read"])
    assert sum(row.dur for row in found(synth)) == blamed_us * US


def test_whose_next_record_was_lost_has_not_had_the_cpu_all_the_time(inversions: Rows) -> None:
    """The client says that another one ran before it, which has no record at all."""
    synth = Synth(ROLES)
    client, backup = synth.task("client", target=True), synth.task("backup")
    other = synth.task("client")
    synth.request(client, 90 * US, 5000 * US)
    synth.sleep(backup, 50 * US, 95 * US)
    synth.preempt(client, 100 * US, 4100 * US, ran=other)
    synth.sleep(backup, 9000 * US, 9100 * US)
    assert inversions(synth) == []


@pytest.mark.parametrize(
    ("names", "blamed_us"), [(("client-sh", "backup"), 3000), (("backup", "client-sh"), 1000)]
)
def test_who_changes_its_name_with_the_cpu_is_blamed_for_its_own_time(
    names: tuple[str, str], blamed_us: int
) -> None:
    """A shell executes a backup, or the other way round, at 1100 us."""
    synth = Synth([("background", "comm:backup"), ("foreground", "comm:client*")])
    task = synth.task(names[0], 70)
    synth.task(names[1], 70, ts=1100 * US)
    crowd(synth, [(task, 95, 4100)])
    assert sum(row.dur for row in found(synth)) == blamed_us * US
