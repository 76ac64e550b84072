"""How sure it is that a writer was paused at the dirty limit for others' pages."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import WaitReason

US = 1000
ROLES = [("foreground", "comm:writer"), ("background", "comm:backup")]
GUESS, BY_THE_LIMIT = 0.5, 2 / 3


def paused(
    *, freerun: int, dirty: int = 900, cgroup: int = 7, other: int = 7, writeback: int = 7
) -> list[tuple[str, str, int, float]]:
    """Of 401 pages dirtied of late, 300 are the backup's; the writer is paused for 30 µs."""
    synth = Synth(ROLES)
    writer = synth.task("writer", target=True, cgroup_id=cgroup)
    backup = synth.task("backup", cgroup_id=other)
    synth.preempt(backup, 1, 2)
    synth.io(writer, 90 * US, 100 * US, size=100 * 4096)
    synth.io(backup, 80 * US, 95 * US, size=300 * 4096)
    synth.request(writer, 110 * US, 160 * US, nr=WRITE)
    synth.throttle(writer, 119 * US, dirty=dirty, freerun=freerun, cgroup_id=writeback)
    synth.sleep(writer, 120 * US, 150 * US, reason=WaitReason.DIRTY_THROTTLE)
    rows = [(row.kind, row.culprit, row.dur, row.confidence) for row in found(synth)]
    assert all(row[:3] == ("dirty_throttle", "backup", 30 * US) for row in rows)
    return rows


@pytest.mark.parametrize(
    ("freerun", "dirty", "confidence"),
    [
        (500, 900, BY_THE_LIMIT),  # others' are 101 of 401 pages: 227 of 900
        (228, 900, BY_THE_LIMIT),
        (226, 900, GUESS),  # others' alone would have reached it
        (950, 900, GUESS),  # nobody is paused by this limit there: a device's own did it
    ],
)
def test_who_would_not_be_paused_without_them(freerun: int, dirty: int, confidence: float) -> None:
    assert [row[3] for row in paused(freerun=freerun, dirty=dirty)] == [pytest.approx(confidence)]


@pytest.mark.parametrize(
    ("other", "writeback", "confidence"),
    [
        (7, 7, BY_THE_LIMIT),
        (8, 7, GUESS),  # the limit of cgroup 7 does not count the pages of cgroup 8
        (8, 1, BY_THE_LIMIT),  # the root's counts all
    ],
)
def test_only_pages_that_the_limit_counts_are_evidence(
    other: int, writeback: int, confidence: float
) -> None:
    rows = paused(freerun=500, other=other, writeback=writeback)
    assert [row[3] for row in rows] == [pytest.approx(confidence)]
