import json
from pathlib import Path

from rcp.probes.bench.cost_table import Measurement, ProgramCost, add_to, as_table


def test_the_most_expensive_program_comes_first_and_shares_are_of_the_whole_time() -> None:
    costs = [ProgramCost("a", 10, 1_000), ProgramCost("b", 2, 9_000), ProgramCost("idle", 0, 0)]
    assert as_table(costs, duration_ns=100_000) == (
        "| program | runs | ns a run | share of the time |\n"
        "|---|---|---|---|\n"
        "| `b` | 2 | 4500 | 9.00 % |\n"
        "| `a` | 10 | 100 | 1.00 % |\n"
        "| all | | | 10.00 % |"
    )


def test_measurements_are_added_one_after_another(tmp_path: Path) -> None:
    costs = [ProgramCost("a", 10, 1_000), ProgramCost("idle", 0, 0), ProgramCost("b", 2, 9_000)]
    for title in ("one load", "another"):
        add_to(tmp_path / "cost", Measurement(title, 100_000, costs, 0))
    stored = json.loads((tmp_path / "cost.json").read_text())
    assert [measurement["title"] for measurement in stored] == ["one load", "another"]
    assert stored[0]["programs"] == [
        {"name": "b", "runs": 2, "run_ns": 9_000},
        {"name": "a", "runs": 10, "run_ns": 1_000},
    ]
    page = (tmp_path / "cost.md").read_text()
    assert page.startswith("\n## one load\n\n| program |")
    assert "\n## another\n" in page
