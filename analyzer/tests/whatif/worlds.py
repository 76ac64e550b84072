"""Recordings of a world that can be worked out by hand: a reader and who is in its way."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.arrivals import Arrivals
from rcp.analyzer.whatif.change import change
from rcp.analyzer.whatif.predict import Prediction, predict
from rcp.analyzer.whatif.recorded import read_on_cpu, read_recorded
from rcp.fixtures.synth import READ, Synth

READER, BACKUP, OTHER, SERVER, JBD2 = 10, 20, 30, 40, 5
ROLES = [("background", "comm:backup"), ("background", "comm:other")]


def world() -> Synth:
    """A world with its tasks, in which nothing has happened yet."""
    synth = Synth(ROLES)
    synth.task("reader", tid=READER, target=True)
    synth.task("backup", tid=BACKUP)
    synth.task("other", tid=OTHER)
    synth.task("server", tid=SERVER)
    synth.task("jbd2/nvme0n1-8", tid=JBD2, kthread=True)
    for tid in (BACKUP, OTHER, SERVER, JBD2):
        synth.sleep(tid, 1, 2)
    return synth


def read_io(synth: Synth, ts: int, end: int, *, issued: int | None = None) -> None:
    """Add a read that waits for its io from 10 ns after *ts* to 10 ns before *end*."""
    io = synth.io(READER, ts + 10, end - 10, issued=issued, op=0)
    synth.request(READER, ts, end, nr=READ)
    synth.sleep(READER, ts + 10, end - 10, io=io)


def predicted(
    store: Store,
    *without: str,
    faster: Sequence[str] = (),
    arrivals: Arrivals = "closed",
) -> Prediction:
    """Predict the latencies of a world."""
    asked = change(store, without, faster)
    return predict(read_recorded(store), read_on_cpu(store, asked.utids), asked, arrivals)


def ns(values: npt.NDArray[np.int64]) -> list[int]:
    """Latencies as a list."""
    return [int(value) for value in values]


def two_culprits() -> Synth:
    """Reads of 10 µs: the other delays one by 6 µs, the backup five by 2 µs."""
    synth = world()
    for at, (waker, dur) in enumerate([(OTHER, 6000), *[(BACKUP, 2000)] * 5]):
        ts = 100_000 * (at + 1)
        synth.request(READER, ts, ts + 4000 + dur, nr=READ)
        synth.sleep(READER, ts + 100, ts + 100 + dur, waker=waker, stack=["down_read"])
    return synth
