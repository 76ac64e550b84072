"""hyperfine 1.15's results."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.tests.written import FILES, refusal

HYPERFINE = FILES / "generators/hyperfine.json"


def test_commands_are_kinds() -> None:
    found = open_latencies(HYPERFINE)
    assert {kind: len(times) for kind, times in found.by_kind.items()} == {
        "sleep 0.01": 10,
        "sleep 0.02": 10,
    }
    assert found.by_kind["sleep 0.02"].min() > 20_000_000


def test_one_command_is_no_kind_so_that_two_sides_can_be_compared() -> None:
    found = open_latencies(f"{HYPERFINE}:sleep 0.01")
    assert found.kinds == ("request",)
    assert refusal(f"{HYPERFINE}:sleep") == (
        f"{HYPERFINE} has no command 'sleep': it has 'sleep 0.01', 'sleep 0.02'."
    )


def test_averages_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "h.csv"
    path.write_text("command,mean,stddev,median,user,system,min,max\nsleep,0.1,0,0.1,0,0,0.1,0.1\n")
    assert refusal(path) == (
        f"{path} has averages, not the time of each run: run hyperfine again with --export-json."
    )
