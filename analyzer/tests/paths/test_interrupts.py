"""Time on a CPU or runnable is cut where interrupts ended ios; nothing else changes or is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.arrays.reasons import CODE
from rcp.analyzer.paths.interrupts import Interrupts, cut_at_interrupts
from rcp.analyzer.paths.segments import Segments
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

US = 1000
PATH = "SELECT ts // 1000, dur // 1000, kind, io_id IS NOT NULL FROM segment ORDER BY segment_id"


def test_a_task_is_interrupted_while_it_runs(ask: Ask) -> None:
    """It runs from 0 to 100 and from 160 on; its own write ends at 160, others' at 20 and 190."""
    synth = Synth([("foreground", "comm:client")])
    client, backup = synth.task("client", target=True), synth.task("backup")
    other = synth.io(backup, 5 * US, 20 * US)
    own = synth.io(client, 90 * US, 160 * US)
    last = synth.io(backup, 7 * US, 190 * US)
    synth.sleep(client, 100 * US, 160 * US, 160 * US, io=own)
    synth.interrupt(other, 20 * US, 45 * US, client)
    synth.interrupt(last, 190 * US, 230 * US, client)  # the request ends before it does
    synth.interrupt(last, 110 * US, 120 * US, backup)
    synth.request(client, 0, 200 * US)
    assert ask(synth, PATH) == [
        (0, 20, "cpu", False),
        (20, 25, "interrupt", True),
        (45, 55, "cpu", False),
        (100, 60, "device", True),
        (160, 30, "cpu", False),
        (190, 10, "interrupt", True),
    ]
    assert ask(synth, "SELECT cpu_dur // 1000 FROM request") == [(105,)]


def test_a_task_that_is_woken_early_waits_for_the_interrupt(ask: Ask) -> None:
    """An idle CPU ends the write's first page at 105, and the last one at 140; it runs from 142.

    The second one, which got another CPU, does not wait for that.
    """
    synth = Synth([("foreground", "comm:client")])
    client, other = synth.task("client", target=True), synth.task("client")
    write = synth.io(client, 10 * US, 100 * US)
    synth.sleep(client, 20 * US, 105 * US, 142 * US, io=write)
    synth.sleep(other, 20 * US, 106 * US, 142 * US, io=write, cpu=1)
    synth.interrupt(write, 100 * US, 140 * US, 0)
    for task in (client, other):
        synth.request(task, 0, 150 * US)
    of_each = PATH.replace("FROM segment", "FROM segment WHERE request_id = {} AND ts >= 20000")
    assert ask(synth, of_each.format(1))[1:] == [
        (105, 35, "interrupt", True),
        (140, 2, "runqueue", False),
        (142, 8, "cpu", False),
    ]
    assert ask(synth, of_each.format(2))[1:] == [
        (106, 36, "runqueue", False),
        (142, 8, "cpu", False),
    ]


def test_an_interrupt_for_an_io_that_is_not_recorded_stays_time_on_the_cpu(ask: Ask) -> None:
    synth = Synth([("foreground", "comm:client")])
    client = synth.task("client", target=True)
    synth.sleep(client, 300 * US, 400 * US)
    synth.interrupt(12345, 20 * US, 45 * US, client)
    synth.request(client, 0, 100 * US)
    assert ask(synth, PATH) == [(0, 100, "cpu", False)]


TIMES = st.integers(0, 40)
KINDS = st.sampled_from(("cpu", "runqueue", "timer"))


@given(
    st.lists(st.tuples(st.integers(0, 2), TIMES, TIMES, KINDS), min_size=1, max_size=8),
    st.lists(st.tuples(st.integers(0, 2), TIMES, TIMES), max_size=8),
)
def test_the_pieces_are_the_segments(
    whole: list[tuple[int, int, int, str]], ended: list[tuple[int, int, int]]
) -> None:
    """Nanosecond by nanosecond: as before, or interrupted where an interrupt of that task was."""
    cut_kinds = (CODE["cpu"], CODE["runqueue"])
    rows = [(utid, ts, dur + 1, CODE[kind]) for utid, ts, dur, kind in whole]
    utid, ts, dur, kind = (np.array(column) for column in zip(*rows, strict=True))
    number = np.arange(len(rows), dtype=np.int32)
    nobody = np.full(len(rows), -1, np.int32)
    segments = Segments(
        request=number,
        ts=ts,
        dur=dur,
        depth=np.zeros(len(rows), np.int8),
        kind=kind.astype(np.int8),
        utid=utid.astype(np.int32),
        io=nobody,
        edge=nobody,
        ran=nobody,
    )
    interrupts = _disjoint(ended)
    cut = cut_at_interrupts(segments, interrupts)
    found = {}
    for at in range(len(cut)):
        for when in range(int(cut.ts[at]), int(cut.ts[at] + cut.dur[at])):
            found[int(cut.request[at]), when] = (int(cut.kind[at]), int(cut.io[at]))
    assert len(found) == dur.sum() == cut.dur.sum()
    assert (cut.dur > 0).all()
    for request, (task, begin, length, kind_then) in enumerate(rows):
        for when in range(begin, begin + length):
            io = [
                int(io)
                for who, lo, hi, io in zip(
                    interrupts.utid, interrupts.ts, interrupts.end, interrupts.io, strict=True
                )
                if who == task and lo <= when < hi and kind_then in cut_kinds
            ]
            expected = (CODE["interrupt"], io[0]) if io else (kind_then, -1)
            assert found[request, when] == expected


def _disjoint(ended: list[tuple[int, int, int]]) -> Interrupts:
    """Return interrupts of tasks; those of one task follow each other."""
    rows, last = [], {0: 0, 1: 0, 2: 0}
    for number, (utid, gap, dur) in enumerate(ended):
        begin = last[utid] + gap // 8
        last[utid] = begin + dur // 4 + 1
        rows.append((utid, begin, last[utid], number))
    rows.sort()
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Interrupts(
        columns[0].astype(np.int32), columns[1], columns[2], columns[3].astype(np.int32)
    )
