"""Who had each CPU, against a table with a column for each moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.cpu.history import CpuHistory
from rcp.analyzer.tests.blame.found import trace_of
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


def recorded(table: np.ndarray[tuple[int, int], np.dtype[np.int64]]) -> Synth:
    synth = Synth(ROLES)
    tids = [synth.task(f"task-{number}") for number in range(N_TASKS)]
    names = {IDLE: 0, COPY: synth.task("copy")} | dict(enumerate(tids))
    left: dict[int, int] = {}
    for at in range(table.shape[1]):
        for cpu, task in enumerate(table[:, at].tolist()):
            before = int(table[cpu, at - 1]) if at else IDLE
            if task in (IDLE, COPY, before):
                continue
            ran, now = names[before], (at + 1) * US
            if task in left:
                synth.sleep(tids[task], left[task], now, ran=ran, cpu=cpu)
            else:
                synth.sleep(tids[task], 0, now, ran=ran, cpu=cpu, first_seen=True)
        for task in set(table[:, at].tolist()) - {IDLE, COPY}:
            left[task] = (at + 2) * US
    return synth


@given(st.lists(st.tuples(who, who), min_size=MOMENTS, max_size=MOMENTS))
def test_each_moment_of_a_cpu_is_of_who_had_it(wanted: list[tuple[int, int]]) -> None:
    table = schedule(wanted)
    synth = recorded(table)
    trace = trace_of(synth)
    tasks = trace.tasks
    history = CpuHistory.of(trace.sleeps, tasks.thread, np.ones(len(tasks), bool))
    found = np.full_like(table, IDLE)
    for cpu, begin, end, utid in zip(
        history.cpu, history.begin, history.end, history.utid, strict=True
    ):
        comm = tasks.comm[utid]
        place = found[cpu, begin // US - 1 : end // US - 1]
        assert (place == IDLE).all()
        place[:] = COPY if comm == "copy" else int(comm.removeprefix("task-"))
    # Of an idle CPU that the unrecorded one got later, the moment is not known.
    same = (found == table) | ((table == IDLE) & (found == COPY))
    # Nor is when it left one that nobody recorded got afterwards.
    same |= (table == COPY) & (found == IDLE)
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
