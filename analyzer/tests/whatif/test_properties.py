"""Rules that every prediction keeps, whatever was recorded."""

import tempfile
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.tests.whatif.worlds import BACKUP, JBD2, OTHER, READER, world
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.predict import Prediction, predict
from rcp.analyzer.whatif.recorded import read_on_cpu, read_recorded
from rcp.analyzer.whatif.waits.wake_ups import undisturbed_ns
from rcp.fixtures.synth import READ, Synth

ARRIVALS = st.sampled_from(("open", "closed"))
TASKS = (READER, BACKUP, OTHER, JBD2)
LENGTHS = st.integers(1, 400)
STACKS = st.sampled_from(
    (
        ("down_read",),
        ("jbd2_log_wait_commit",),
        ("pipe_read",),
        ("folio_wait_writeback",),
        ("blk_mq_get_tag",),
        ("balance_dirty_pages",),
        ("worker_thread",),
        (),
    )
)


def _ios(synth: Synth, draw: st.DrawFn) -> list[int]:
    found = []
    for _ in range(draw(st.integers(0, 12))):
        queued = draw(st.integers(100, 4000))
        issued = queued + draw(LENGTHS)
        op = draw(st.sampled_from((0, 1, 1, 2)))
        size = 0 if op == 2 else 4096 * draw(st.integers(1, 64))
        submitter = draw(st.sampled_from(TASKS))
        io = synth.io(submitter, queued, issued + draw(LENGTHS), issued=issued, op=op, size=size)
        found.append(io)
        if op == 1 and draw(st.booleans()):
            synth.cause(io, draw(st.sampled_from(TASKS[:3])))
    return found


@st.composite
def recordings(draw: st.DrawFn) -> Synth:
    """RequestRows that wait for tasks and ios, which wait in turn."""
    synth = world()
    ios = _ios(synth, draw)
    for transaction in range(draw(st.integers(0, 3))):
        ts = draw(st.integers(100, 4000))
        synth.commit(JBD2, ts, ts + draw(LENGTHS), transaction=transaction + 1)
        for tid in draw(st.sets(st.sampled_from(TASKS))):
            synth.handle(tid, ts - 50, ts - 10, transaction=transaction + 1)
    for tid in TASKS:
        ts = 100
        for _ in range(draw(st.integers(0, 6))):
            ts += draw(LENGTHS)
            end = ts + 3 * draw(LENGTHS)
            io = draw(st.sampled_from((0, *ios)))
            waker = draw(st.sampled_from((0, *(one for one in TASKS if one != tid))))
            run = end + draw(st.sampled_from((0, 100)))
            ran = draw(st.sampled_from((0, BACKUP, OTHER)))
            synth.sleep(
                tid, ts, end, run, waker=0 if io else waker, io=io, stack=draw(STACKS), ran=ran
            )
            ts = run
    ts = 100
    for _ in range(draw(st.integers(1, 5))):
        ts += draw(LENGTHS)
        end = ts + 3 * draw(LENGTHS)
        synth.request(READER, ts, end, nr=READ)
        ts = end
    return synth


def _utids(store: Store, *comms: str) -> list[int]:
    rows = store.query("SELECT utid, comm FROM task")
    return [utid for utid, comm in rows if comm in comms]


def _all(
    synth: Synth, arrivals: Arrivals, *sets: tuple[str, ...]
) -> tuple[Times, list[Prediction]]:
    """Return the requests' own time, and the predictions without each set of tasks.

    Own time is no more than what requests like it take that wait for nothing.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        load_in_memory(synth.write(Path(folder) / "x.spool")) as store,
    ):
        recorded = read_recorded(store)
        found = []
        for comms in sets:
            change = Alteration(utids=_utids(store, *comms))
            found.append(predict(recorded, read_on_cpu(store, change.utids), change, arrivals))
    return undisturbed_ns(recorded.requests), found


@given(synth=recordings(), arrivals=ARRIVALS)
@settings(max_examples=40, deadline=None)
def test_predictions_keep_the_rules(synth: Synth, arrivals: Arrivals) -> None:
    sets = ((), ("backup",), ("backup", "other"))
    own_ns, (nothing, some, more) = _all(synth, arrivals, *sets)
    for column in (nothing.predicted_ns, nothing.low_ns, nothing.high_ns):
        assert np.array_equal(column, nothing.recorded_ns), "taking nothing away changes nothing"
    assert all(more.predicted_ns <= some.predicted_ns), "taking more away makes nothing slower"
    assert all(some.predicted_ns <= some.recorded_ns), "taking work away makes nothing slower"
    for found in (some, more):
        assert all(found.low_ns >= np.minimum(own_ns, found.recorded_ns)), "own work stays"
        assert all(found.low_ns <= found.predicted_ns), "the range holds the prediction"
        assert all(found.predicted_ns <= found.high_ns), "the range holds the prediction"
