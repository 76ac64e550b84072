"""A sleep between two tries for a file's lock is a wait for who had it then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Rows


def test_who_polls_for_a_lock_waits_for_its_owner_whatever_that_does(
    ask: Ask, segments: Rows
) -> None:
    """A timer ends the sleep; who has the lock may have let it go, and sleep itself."""
    synth = Synth([("background", "comm:backup")])
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 190, reason=WaitReason.FILE_LOCK, obj=9, owner=bg)
    synth.sleep(bg, 120, 180, waker=fg)
    expected = [(100, 10, "cpu", "writer"), (110, 80, "file_lock", "writer")]
    assert segments(synth) == [*expected, (190, 10, "cpu", "writer")]
    rows = ask(synth, "SELECT kind, dur, confidence FROM inversion")
    assert rows == [("lock", 80, 0.5)]
