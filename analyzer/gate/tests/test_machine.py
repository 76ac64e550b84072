"""What is known of the machine during a run, and what is told of its drift between two."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from rcp.analyzer.gate.machine import PACE, STEAL, cpu_ticks, watched
from rcp.analyzer.gate.tests.conftest import Gate, MakeRuns

REMEDY = (
    "a drift of the machine between the two counts as a change: `rcp-trace gate run` measures both "
    "in turn"
)
OF_SAVE = f"the baseline was measured before the candidate, so {REMEDY}"
OF_FILES = f"if the baseline was measured before the candidate, {REMEDY}"
LIMITS = ("--max-regression", "p50=5%,p99=5%")


def test_ticks_are_those_of_all_cpus(tmp_path: Path) -> None:
    (tmp_path / "stat").write_text("cpu  10 20 30 40 50 60 70 80 5 5\ncpu0 1 2 3 4 5 6 7 8 9 10\n")
    # Guest time is a part of user time: it does not count twice.
    assert cpu_ticks(tmp_path) == (80, 360)


def test_ticks_that_cannot_be_read_are_unknown(tmp_path: Path) -> None:
    assert cpu_ticks(tmp_path) is None
    (tmp_path / "stat").write_text("cpu  10 20\n")
    assert cpu_ticks(tmp_path) is None
    (tmp_path / "stat").write_text("")
    assert cpu_ticks(tmp_path) is None


def test_a_run_is_watched_to_its_end() -> None:
    with watched() as facts:
        assert facts == {}
        sum(range(2_000_000))  # some ticks pass
    assert PACE in facts
    assert 0 <= facts.get(STEAL, 0) <= 1


@pytest.fixture
def save(make_runs: MakeRuns, gate: Gate, tmp_path: Path) -> Path:
    folder = tmp_path / "ci/baseline"
    assert gate("save", *make_runs("old"), "-o", folder).exit_code == 0
    return folder


def notes(gate: Gate, *words: object) -> tuple[str, list[str]]:
    """Return the verdict, and the notes about drift."""
    told = json.loads(gate(*words, *LIMITS, "--format", "json").stdout)
    return told["verdict"], [note for note in told["warnings"] if "drift" in note]


def test_a_regression_against_a_save_is_told_of_drift(
    make_runs: MakeRuns, gate: Gate, save: Path, tmp_path: Path
) -> None:
    words = (*make_runs("worse", factor=1.3), "--baseline", save)
    assert notes(gate, *words) == ("regression", [OF_SAVE])
    output = tmp_path / "gate.xml"
    shown = gate(*words, *LIMITS, "--junit", output).stdout
    assert " ".join(shown.split()).count(f"note: {OF_SAVE}") == 1
    in_junit = ElementTree.parse(output).getroot().findtext(".//system-out") or ""
    assert OF_SAVE in " ".join(in_junit.split())
    assert f"* {OF_SAVE}\n" in gate(*words, "--format", "markdown").stdout


def test_a_regression_against_files_is_told_unless_they_are_in_turn(
    make_runs: MakeRuns, gate: Gate
) -> None:
    words = (*make_runs("worse", factor=1.5), "--baseline", *make_runs("old"))
    assert notes(gate, *words) == ("regression", [OF_FILES])
    assert notes(gate, *words, "--in-turn") == ("regression", [])


def test_without_a_regression_drift_is_not_told(
    make_runs: MakeRuns, gate: Gate, save: Path
) -> None:
    assert notes(gate, *make_runs("same"), "-b", save)[1] == []
    verdict, told = notes(gate, *make_runs("same"), "-b", save, "--slo", "p50=1us")
    assert (verdict, told) == ("SLO missed", [])


def test_virtual_time_has_no_drift(
    make_runs: MakeRuns, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RCP_LAB_VIRTUAL_TIME", "1")
    words = (*make_runs("worse", factor=1.3), "--baseline", *make_runs("old"), "--here")
    assert notes(gate, *words) == ("regression", [])


def test_runs_that_the_gate_made_in_turn_are_not_told_of_drift(gate: Gate, tmp_path: Path) -> None:
    sides = []
    for name, factor in (("a", 1), ("b", 2)):
        sides.append(tmp_path / name)
        sides[-1].write_text("".join(f"{factor * n}us\n" for n in range(1, 3000)))
    words = ("run", "--a", f"cat {sides[0]}", "--b", f"cat {sides[1]}", "--runs", 8)
    assert notes(gate, *words, "--no-confirm") == ("regression", [])
