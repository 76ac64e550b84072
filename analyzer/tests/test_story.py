"""Long paths are told in few lines, and nothing is lost in folding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcp.analyzer.story import tell
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load


def many_reads() -> Synth:
    synth = Synth()
    fg, bg = synth.task("writer", target=True), synth.task("checkpointer")
    synth.request(fg, 0 + 1000, 1000 + 100 * 40)
    for at in range(40):
        ts = 1000 + at * 100
        io = synth.io(bg, ts + 5, ts + 60 + at)
        synth.sleep(fg, ts + 10, ts + 60 + at, io=io, stack=["io_schedule"])
    return synth


def test_runs_of_similar_siblings_are_folded(load: Load) -> None:
    store = load(many_reads())
    told = tell(store, 1)
    assert len(told) < 20
    assert sum(line.dur_ns for line in told if line.depth == 0) == 4000
    assert any("waits for ios by checkpointer (device)" in line.text for line in told)


def test_everything_is_told_when_asked(load: Load) -> None:
    told = tell(load(many_reads()), 1, limit=None)
    assert sum("its write of 4 KiB on nvme0n1 is at the device" in line.text for line in told) == 40
    assert [line.offset_ns for line in told] == sorted(line.offset_ns for line in told)
