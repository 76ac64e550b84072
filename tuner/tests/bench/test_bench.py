"""Searches replayed on a table whose answer is known."""

import pytest

from rcp.tuner.bench.page import costs_table, section
from rcp.tuner.bench.runs import Runs, between_runs, n_incomplete
from rcp.tuner.bench.searches import costs, replay
from rcp.tuner.bench.table import Goal, Row, Table
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.tests.knob_rows import choice, number

KNOBS = (
    choice("disk.scheduler", default="none", choices=("none", "rcp"), helps=("queue",)),
    number("iosched.tokens", default=1, low=1, high=64, needs={"disk.scheduler": ("rcp",)}),
)
GOAL = Goal("p99=5ms", "p99_ns", 5e6, "mb")


def _table() -> Table:
    """Each token gives 2 MB/s and costs 1 ms; two runs differ by a tenth. Best: 4 tokens."""
    rows: list[tuple[Settings, Row]] = [({"disk.scheduler": "none"}, {"p99_ns": 4e7, "mb": 200})]
    for tokens in (1, 2, 4, 8, 16, 32, 64):
        settings: Settings = {"disk.scheduler": "rcp", "iosched.tokens": tokens}
        figures = [tokens * 1e6 * factor for factor in (1.0, 1.1, 1.0, 1.1)]
        rows += [(settings, {"p99_ns": figure, "mb": 2.0 * tokens}) for figure in figures]
    return Table(KNOBS, rows)


@pytest.mark.parametrize("name", ["gp, starts, chosen knobs", "gp", "tpe", "random"])
def test_a_search_of_the_whole_table_finds_the_best(name: str) -> None:
    found = replay(name, _table(), GOAL, seed=1, budget=8)
    assert found.confirmed_at is not None
    assert (found.objective, found.best_seen, found.luckiest_confirmed) == (8.0, 8.0, True)


def test_starts_find_it_at_once() -> None:
    # profile rcp is one token: the second trial
    assert replay("gp, starts", _table(), GOAL, seed=3, budget=4).confirmed_at == 2


def test_without_an_answer_nothing_is_chosen() -> None:
    none = Goal("p99=0.5ms", "p99_ns", 5e5, "mb")
    found = replay("random", _table(), none, seed=1, budget=8)
    assert (found.confirmed_at, found.chosen, found.objective) == (None, "", 0.0)


def test_runs_differ_by_their_pooled_deviation() -> None:
    # of four runs, two and two log(1.1) apart: half of that, times the root of 4/3
    assert between_runs(_table(), GOAL) == pytest.approx(0.05503, abs=1e-4)


def test_missing_runs_differ_by_what_others_do() -> None:
    table = _table()
    assert n_incomplete(table) == 1
    ratios = set()
    for seed in range(30):
        order = Runs(table, GOAL, seed).shuffled({"disk.scheduler": "none"})
        assert order[0].ratios["p99=5ms"] == 8
        assert {one.objective for one in order} == {200}
        ratios |= {round(one.ratios["p99=5ms"], 3) for one in order}
    assert ratios == {8.0, 8.8, round(8 / 1.1, 3)}


def test_the_section_has_a_row_for_each_search() -> None:
    replays = [replay("random", _table(), GOAL, seed, 8) for seed in range(3)]
    text = section(GOAL, replays, 8, _table())
    assert text.startswith("## p99=5ms\n\n3 seeds, 8 trials each, on 8 settings measured.")
    assert "| random | 3 (3–6) | 3/3 | " in text


def test_what_a_proposal_takes_is_measured_for_each_search() -> None:
    found = list(costs(_table(), GOAL, counts=[3]))
    assert [(one.search, one.trials) for one in found] == [("gp", 3), ("tpe", 3), ("random", 3)]
    assert all(one.wall_s > 0 for one in found)
    assert len(costs_table(found).splitlines()) == 9
