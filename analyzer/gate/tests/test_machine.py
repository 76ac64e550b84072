"""What is known of the machine during a run."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.gate.machine import PACE, STEAL, cpu_ticks, watched


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
