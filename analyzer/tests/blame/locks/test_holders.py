"""A lock that readers had: others may have kept the waiter as long as the last one to leave."""

from __future__ import annotations

import pytest

from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

US = 1000
ROLES = [("background", "comm:backup"), ("foreground", "comm:writer")]


@pytest.mark.parametrize(("shared", "sure"), [(False, 1.0), (True, GUESS_CONFIDENCE)])
def test_who_left_a_lock_last_may_have_been_one_of_several(shared: bool, sure: float) -> None:
    """The kernel names no owner of a lock that readers have, but the last one to take it."""
    synth = Synth(ROLES)
    fg, bg = synth.task("writer", target=True), synth.task("backup")
    synth.request(fg, 100 * US, 200 * US)
    begin, end, stack = 110 * US, 190 * US, ["rwsem_down_write_slowpath"]
    lock = WaitReason.LOCK
    synth.sleep(fg, begin, end, waker=bg, stack=stack, reason=lock, owner=bg, guessed=shared)
    (row,) = found(synth)
    assert row[:4] == ("lock", "backup", 80 * US, sure)
