"""Boosts are drawn on the chain, from the waiter to what it waits for."""

from typing import TYPE_CHECKING

from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import FoundBy, Mechanism, WaitReason
from rcp.ui.charts.chain import lanes
from rcp.ui.info.chain import Chain, chain

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load

MS = 1_000_000


def drawn(load: "Load", synth: Synth) -> Chain:
    found = chain(load(synth), 1)
    assert found is not None
    return found


def commit(lent_at: int = 2 * MS) -> Synth:
    """An fsync sleeps for jbd2, which sleeps for its write; both were boosted."""
    synth = Synth([("background", "comm:nobody")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2", tid=11)
    synth.request(fg, 1 * MS, 40 * MS)
    io = synth.io(jbd2, 4 * MS, 36 * MS, got=5 * MS, issued=20 * MS)
    synth.lend(fg, lent_at, jbd2, Mechanism.COMMIT)
    synth.promote(fg, 9 * MS, io, 4 * MS, FoundBy.TASK)
    synth.sleep(jbd2, 6 * MS, 36 * MS, io=io, reason=WaitReason.PAGE_WRITEBACK)
    synth.sleep(fg, 2 * MS, 38 * MS, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    return synth


def test_a_loan_and_a_promotion_are_arrows_between_lanes(load: "Load") -> None:
    found = drawn(load, commit())
    assert [lane.name for lane in found.lanes] == ["writer 10", "jbd2 11", "write 4 KiB by jbd2"]
    assert [tuple(boost) for boost in found.boosts] == [
        (0, 1, 1 * MS, "writer boosts jbd2 (commit)"),
        (0, 2, 8 * MS, "writer boosts the queued io after 4.00 ms"),
    ]


def test_a_boost_is_drawn_dashed_and_read_aloud(load: "Load") -> None:
    spec = lanes(drawn(load, commit()), is_dark=False)
    (shaft, head) = [one for one in spec["layer"] if one.get("data") == {"name": "boosts"}]
    assert shaft["mark"]["strokeDash"]
    assert head["encoding"]["description"]["field"] == "what"
    assert [row["to"] for row in spec["datasets"]["boosts"]] == [1.5, 2.5]


def test_without_boosts_nothing_is_drawn(load: "Load") -> None:
    synth = Synth([("background", "comm:nobody")])
    fg, other = synth.task("writer", tid=10, target=True), synth.task("holder", tid=11)
    synth.request(fg, 0, 40 * MS)
    synth.sleep(fg, 2 * MS, 38 * MS, waker=other, reason=WaitReason.LOCK)
    assert drawn(load, synth).boosts == []


def test_what_has_no_lane_is_not_drawn_and_a_waiter_without_one_has_no_shaft(load: "Load") -> None:
    synth = commit()
    synth.lend(10, 2 * MS, synth.task("elsewhere", tid=30), Mechanism.COMMIT)
    # Another critical task, which is not on this path, waited for the same write.
    synth.promote(synth.task("reader", tid=31, target=True), 10 * MS, 1, 5 * MS, FoundBy.MAPPING)
    found = drawn(load, synth)
    assert [tuple(boost)[:2] for boost in found.boosts] == [(0, 1), (0, 2), (2, 2)]
