"""The gate judges two parts of a fleet: hosts are the runs."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.gate.causes import Around
from rcp.analyzer.gate.fleet_runs import fleet_runs, is_fleet
from rcp.analyzer.tests.fleet.hosts import recorded

A, B = "day=2026-01-01", "day=2026-01-02"


def run(*words: object) -> Result:
    return CliRunner().invoke(main, [str(word) for word in words])


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight hosts on two days; on the second one requests take half as long again."""
    spools = tmp_path_factory.mktemp("spools")
    folder = spools / "fleet"
    for number in range(8):
        random = np.random.default_rng(number)
        for day, factor in ((0, 1.0), (1, 1.5)):
            durs = np.exp(random.normal(10, 0.1, 300)) * factor
            culprit = "backup" if day else "checkpointer"
            spool = recorded(f"db{number}", day, durs_ns=[*map(int, durs)], culprit=culprit)
            path = spool.write(spools / f"{number}-{day}.spool")
            done = run("summary", path, "--fleet", folder)
            assert done.exit_code == 0, done.output
    return folder


@pytest.fixture
def fleet(added: Path, tmp_path: Path) -> Path:
    """A copy of that fleet, to be changed."""
    return Path(shutil.copytree(added, tmp_path / "fleet"))


def judged(*words: object, status: int) -> dict[str, Any]:
    done = run("gate", *words, "--format", "json", "--max-regression", "p50=10%")
    assert done.exit_code == status, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_worse_day_is_a_regression_with_its_cause(fleet: Path) -> None:
    words = (f"{fleet}?{B}", "--baseline", f"{fleet}?{A}")
    found = judged(*words, status=1)
    text = json.dumps(found)
    assert "regression" in text
    assert "io_dependency by backup" in text
    assert "gate run" not in text  # which cannot measure a fleet
    done = run("gate", *words, "--max-regression", "p50=10%")
    assert "backup" in done.stdout


def test_a_day_with_itself_passes(fleet: Path) -> None:
    judged(f"{fleet}?{A}", "--baseline", f"{fleet}?{A}", status=0)


def test_hosts_are_runs_with_the_summarys_histograms(fleet: Path) -> None:
    runs = fleet_runs(f"{fleet}?{A},host=db[01]")
    assert [one.latencies.source for one in runs] == [
        f"{fleet}?{A},host=db[01] db0",
        f"{fleet}?{A},host=db[01] db1",
    ]
    histogram = runs[0].latencies.histograms["fsync"]
    assert histogram.n == 300
    random = np.random.default_rng(0)
    exact = np.sort((np.exp(random.normal(10, 0.1, 300))).astype(int))
    assert all(
        histogram.at_least(rank) <= exact[rank - 1] <= histogram.at(rank) for rank in (1, 150, 300)
    )
    (window,) = runs[0].causes([Around("fsync", 0.5)])
    assert window is not None
    assert set(window.culprit) == {"io_dependency by checkpointer"}
    assert sum(one.dur_ns for one in window.reason.values()) == window.total_ns


def test_an_slo_holds_over_a_part_of_a_fleet(fleet: Path) -> None:
    done = run("gate", f"{fleet}?{A}", "--slo", "p50=1ms")
    assert done.exit_code == 0, done.output
    done = run("gate", f"{fleet}?{B}", "--slo", "p50=1us")
    assert done.exit_code == 1, done.output


def test_what_is_left_out_is_told(fleet: Path) -> None:
    bad = next((fleet / f"v1/{A}/host=db0").iterdir())
    bad.write_bytes(bad.read_bytes()[:-9])
    done = run("gate", f"{fleet}?{A}", "--slo", "p50=1ms")
    assert "was left out: it is cut short or damaged" in " ".join(done.output.split())


def test_errors_are_one_line(fleet: Path) -> None:
    done = run("gate", f"{fleet}?day=2030-01-01", "--slo", "p50=1ms")
    assert (done.exit_code, done.stderr) == (
        2,
        f"rcp-trace: error: {fleet} has no summaries of 2030-01-01: add one with "
        f"`rcp-trace summary FILE --fleet {fleet}`.\n",
    )
    done = run("gate", f"{fleet}?{A}", "--slo", "p50=1ms", "--without-others")
    assert done.exit_code == 2


def test_a_folder_of_other_files_is_no_fleet(tmp_path: Path) -> None:
    assert not is_fleet(str(tmp_path))
    assert not is_fleet("latencies.txt")
