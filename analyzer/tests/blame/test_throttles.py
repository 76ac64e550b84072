"""How sure it is that a writer was paused at the dirty limit for others' pages."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import WRITE, Synth
from rcp.probes.contract.events import WaitReason

US = 1000
ROLES = [("foreground", "comm:writer"), ("background", "comm:backup")]
GUESS, BY_THE_LIMIT = 0.5, 2 / 3


def before(cgroup: int = 7, other: int = 7) -> tuple[Synth, int, int]:
    """The writer's 100 pages and the backup's 300, and the writer's request from 110 to 160 µs."""
    synth = Synth(ROLES)
    writer = synth.task("writer", target=True, cgroup_id=cgroup)
    backup = synth.task("backup", cgroup_id=other)
    synth.preempt(backup, 1, 2)
    synth.io(writer, 90 * US, 100 * US, size=100 * 4096)
    synth.io(backup, 80 * US, 95 * US, size=300 * 4096)
    synth.request(writer, 110 * US, 160 * US, nr=WRITE)
    return synth, writer, backup


def paused(
    *, freerun: int, dirty: int = 900, cgroup: int = 7, other: int = 7, writeback: int = 7
) -> list[tuple[str, str, int, float]]:
    """Of 401 pages dirtied of late, 300 are the backup's; the writer is paused for 30 µs."""
    synth, writer, _ = before(cgroup, other)
    synth.throttle(writer, 119 * US, dirty=dirty, freerun=freerun, cgroup_id=writeback)
    synth.sleep(writer, 120 * US, 150 * US, reason=WaitReason.DIRTY_THROTTLE)
    rows = [(row.kind, row.culprit, row.dur, row.confidence) for row in found(synth)]
    assert all(row[:3] == ("dirty_throttle", "backup", 30 * US) for row in rows)
    return rows


@pytest.mark.parametrize(
    ("freerun", "dirty", "confidence"),
    [
        (700, 900, BY_THE_LIMIT),
        (602, 900, BY_THE_LIMIT),  # of 900 pages, all but the backup's 300 may be older
        (598, 900, GUESS),
        (82, 320, BY_THE_LIMIT),
        (80, 320, GUESS),  # others dirtied 101 of 401 of late: 80.6 of 320
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
    rows = paused(freerun=700, other=other, writeback=writeback)
    assert [row[3] for row in rows] == [pytest.approx(confidence)]


def test_a_decision_leads_to_the_next_sleep_alone() -> None:
    synth, writer, _ = before()
    synth.throttle(writer, 111 * US, freerun=700, cgroup_id=7)
    synth.sleep(writer, 112 * US, 115 * US, reason=WaitReason.DIRTY_THROTTLE)
    synth.sleep(writer, 120 * US, 150 * US, reason=WaitReason.DIRTY_THROTTLE)  # decision lost
    # By time: 3 µs by the limit, 30 µs by a guess.
    expected = (3 * BY_THE_LIMIT + 30 * GUESS) / 33
    (row,) = found(synth)
    assert row.dur == 33 * US
    assert row.confidence == pytest.approx(expected)
