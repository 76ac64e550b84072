from typing import Any

import pytest

from rcp.probes.cost.budget import TICK_NS, Budget
from rcp.probes.cost.shedding import STEPS, Shedding

TOP = len(STEPS) - 1


def ticks(budget: Budget, *shares: float, start: int = 0) -> list[str | None]:
    return [budget.tick(share, (start + n + 1) * TICK_NS) for n, share in enumerate(shares)]


def steps(budget: Budget) -> list[int]:
    return [event["level"] for event in budget.as_dict(0)["events"]]


def test_nothing_is_given_up_below_the_bound() -> None:
    budget = Budget(0.05, 0)
    assert ticks(budget, *[0.049] * 20) == [None] * 20
    assert (budget.level, budget.shedding(0)) == (0, Shedding())


def test_a_short_burst_is_let_pass() -> None:
    budget = Budget(0.05, 0)
    ticks(budget, 0.06, 0.07, 0.01, 0.06, 0.07, 0.01)
    assert budget.level == 0


def test_a_step_is_taken_after_three_ticks_and_said() -> None:
    budget = Budget(0.05, 0)
    assert ticks(budget, 0.06, 0.06, 0.06) == [
        None,
        None,
        "recording used 6.0 % of one CPU (--max-cpu 5): sleeps under 50us are not written.",
    ]
    assert budget.shedding(0) == STEPS[1].shedding


def test_far_above_the_bound_a_step_is_taken_each_tick_up_to_the_last() -> None:
    budget = Budget(0.05, 0)
    ticks(budget, *[0.5] * 10)
    assert steps(budget) == list(range(1, TOP + 1))
    assert budget.level == budget.level_max == TOP


def test_what_was_given_up_comes_back_when_there_is_room() -> None:
    budget = Budget(0.05, 0)
    ticks(budget, 0.2, *[0.02] * 9)
    assert budget.level == 1
    ticks(budget, 0.02, start=10)
    assert (budget.level, budget.level_max) == (0, 1)
    assert steps(budget) == [1, 0]


def test_use_just_below_the_bound_does_not_bring_it_back() -> None:
    budget = Budget(0.05, 0)
    ticks(budget, 0.2, *[0.045] * 50)
    assert budget.level == 1


class Storm:
    """Probes that use ``load`` CPUs while they are not paused."""

    def __init__(self, load: float) -> None:
        self.load, self.now_ns = load, 0
        self.budget = Budget(0.05, 0)

    def second(self) -> float:
        """Live through one tick; return the share used."""
        used_ns, end_ns = 0.0, self.now_ns + TICK_NS
        while self.now_ns < end_ns:
            paused = self.budget.shedding(self.now_ns).paused
            step_ns = max(round(self.budget.next_change_s(self.now_ns) * 1e9), 1_000_000)
            used_ns += 0 if paused else self.load * step_ns
            self.now_ns += step_ns
        share = used_ns / TICK_NS
        self.budget.tick(share, self.now_ns)
        return share


@pytest.mark.parametrize("load", [0.11, 0.3, 0.9, 1.9])
def test_pauses_keep_a_storm_near_the_bound(load: float) -> None:
    storm = Storm(load)
    shares = [storm.second() for _ in range(40)]
    assert sum(shares[20:]) / 20 == pytest.approx(0.05, rel=0.2)
    assert storm.budget.as_dict(storm.now_ns)["cpu_share_since"] == pytest.approx(0.05, rel=0.2)
    summary: dict[str, Any] = storm.budget.as_dict(storm.now_ns)
    assert summary["n_pauses"] == len(summary["pauses"]) > 20
    assert summary["paused_ns"] == sum(end - start for start, end in summary["pauses"])


def test_a_pause_in_progress_is_reported_up_to_now() -> None:
    budget = Budget(0.05, 0)
    ticks(budget, *[0.5] * TOP)
    assert budget.shedding(TOP * TICK_NS + TICK_NS * 9 // 10).paused
    summary = budget.as_dict(TOP * TICK_NS + TICK_NS)
    assert (summary["n_pauses"], summary["paused_ns"]) == (1, TICK_NS // 10)


def test_after_a_storm_everything_is_recorded_again() -> None:
    storm = Storm(0.9)
    for _ in range(20):
        storm.second()
    assert storm.budget.level == TOP
    storm.load = 0.001
    for _ in range(70):
        storm.second()
    assert storm.budget.level == 0


def test_the_next_change_is_the_end_of_the_tick_or_the_pause() -> None:
    budget = Budget(0.05, 0)
    assert budget.next_change_s(TICK_NS // 4) == 0.75
    ticks(budget, *[0.5] * TOP)
    start = TOP * TICK_NS
    assert budget.next_change_s(start) == 0.1  # 0.05 of 0.5 CPUs: a tenth is recorded
    assert budget.is_due(start + TICK_NS)
    assert not budget.is_due(start + TICK_NS - 1)
