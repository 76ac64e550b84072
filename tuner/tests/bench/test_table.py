"""A tiny table, replayed."""

import json
from pathlib import Path

import pytest

from rcp.tuner.bench.table import Goal, Table, load
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.space import Key
from rcp.tuner.tests.knob_rows import choice, number

KNOBS = (
    choice("disk.scheduler", backend="", default="none", choices=("none", "rcp")),
    number(
        "tokens",
        backend="",
        default=1,
        low=1,
        high=64,
        choices=(0,),
        needs={"disk.scheduler": ("rcp",)},
    ),
)
GOAL = Goal("p99=5ms", "p99_ns", 5e6, "mb")
CSV = """disk.scheduler,tokens,seed,p99_ns,mb,failed
none,,0,40000000,50,
rcp,1,0,1000000,20,
rcp,1,1,1500000,21,
rcp,0,0,30000000,45,
rcp,64,0,,,tokens: EINVAL
"""


@pytest.fixture
def table(tmp_path: Path) -> Table:
    (tmp_path / "trials.csv").write_text(CSV)
    told = [
        {"name": "disk.scheduler", "what": "", "unit": "", "backend": "", "default": "none",
         "scale": "choice", "choices": ["none", "rcp"], "needs": {}, "helps": []},
        {"name": "tokens", "what": "", "unit": "", "backend": "", "default": 1, "scale": "log",
         "low": 1, "high": 64, "choices": [0], "needs": {"disk.scheduler": ["rcp"]}, "helps": []},
    ]  # fmt: skip
    (tmp_path / "knobs.json").write_text(json.dumps(told))
    return load(tmp_path)


def test_what_was_written_is_read(table: Table) -> None:
    assert table.space.knobs == KNOBS
    assert len(table) == 4
    assert table.rows({"disk.scheduler": "rcp", "tokens": 1}) == [
        {"p99_ns": 1e6, "mb": 20},
        {"p99_ns": 1.5e6, "mb": 21},
    ]


def test_a_row_is_seen_by_the_goal(table: Table) -> None:
    rows = table.rows({"disk.scheduler": "none"})
    assert GOAL.observed(rows[0]) == Observation(50, {"p99=5ms": 8.0})
    failed = table.rows({"disk.scheduler": "rcp", "tokens": 64})
    assert GOAL.observed(failed[0]).failed == "the kernel refused the settings"


def test_the_nearest_of_the_same_words_is_given(table: Table) -> None:
    asked: Settings = {"disk.scheduler": "rcp", "tokens": 30}
    tried: set[Key] = set()
    given = []
    for _ in range(5):
        given.append(table.nearest(asked, tried))
        tried.add(table.space.key(given[-1]))
    assert given == [
        {"disk.scheduler": "rcp", "tokens": 64},
        {"disk.scheduler": "rcp", "tokens": 1},
        {"disk.scheduler": "rcp", "tokens": 0},
        # another scheduler only when there is nothing else left, and all again after that
        {"disk.scheduler": "none"},
        {"disk.scheduler": "rcp", "tokens": 64},
    ]
