"""Trials of several studies in one."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.tuner.cli import main
from rcp.tuner.studies.explain import outcome_of
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.toy import ToyMachine, tune


def test_a_merged_study_has_the_trials_of_all_and_a_tuning_goes_on_with_them(
    tmp_path: Path,
) -> None:
    parts = [tmp_path / "a.duckdb", tmp_path / "b.duckdb"]
    trials = []
    for path in parts:
        with tune(path, ToyMachine(), "p99=9ms") as study:
            trials += [row._replace(trial_id=0) for row in study.trials()]
    both = tmp_path / "both.duckdb"
    result = CliRunner().invoke(main, ["merge", *map(str, parts), "-o", str(both)])
    assert result.output == f"{both}: {len(trials)} trials of 2 studies\n"
    with Study.open(both, read_only=True) as study:
        rows = study.trials()
        assert [row.trial_id for row in rows] == list(range(1, len(trials) + 1))
        assert [row._replace(trial_id=0) for row in rows] == trials
        assert outcome_of(study) == "unfinished"
    machine = ToyMachine()
    with tune(both, machine, "p99=9ms") as study:
        assert outcome_of(study) == "met"
        phases = {row.phase for row in study.trials()[len(trials) :]}
    assert "search" not in phases  # the limit of trials was had by the parts together


@pytest.mark.parametrize(
    ("other", "slo", "message"),
    [
        (
            ToyMachine(name="another toy"),
            "p99=9ms",
            "{b} is of another workload (another toy, here toy): merge studies of one machine and "
            "workload.",
        ),
        (
            ToyMachine(),
            "p99=8ms",
            "{a} and {b} differ in what they tune (slo p99=9ms and p99=8ms): merge studies of "
            "one SLO, objective and set of knobs.",
        ),
    ],
)
def test_unlike_studies_are_not_merged(
    tmp_path: Path, other: ToyMachine, slo: str, message: str
) -> None:
    first, second, both = (tmp_path / f"{name}.duckdb" for name in ("a", "b", "both"))
    tune(first, ToyMachine(), "p99=9ms").close()
    tune(second, other, slo).close()
    result = CliRunner().invoke(main, ["merge", str(first), str(second), "-o", str(both)])
    told = message.format(a=first, b=second)
    assert (result.exit_code, result.output) == (2, f"rcp-tune: error: {told}\n")
    assert not both.exists()


def test_a_study_does_not_count_twice(tmp_path: Path) -> None:
    one, link, both = (tmp_path / f"{name}.duckdb" for name in ("one", "link", "both"))
    tune(one, ToyMachine(), "p99=9ms").close()
    link.symlink_to(one)
    for again in (one, link):
        result = CliRunner().invoke(main, ["merge", str(one), str(again), "-o", str(both)])
        assert (result.exit_code, result.output) == (
            2,
            "rcp-tune: error: a study is named twice: merge different ones.\n",
        )
    assert not both.exists()
