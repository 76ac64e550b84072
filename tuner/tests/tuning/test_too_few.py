"""A tuning whose trials have too few requests for the SLO's quantile."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.tuner.cli import main
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.explain import explanation, outcome_of
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.toy import ToyMachine, tune
from rcp.tuner.trials.lab import LabMachine
from rcp.tuner.trials.measurement import Measurement, Shortage, SloValue
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort
from rcp.tuner.tuning.first_trial import refusal

SHORT = "p99=1s cannot be judged from {} requests: 1000 are needed, so that 10 lie beyond it"


@pytest.mark.parametrize(
    ("n", "lower"),
    [(10, ""), (100, ", or bound a lower quantile: 100 are enough for p90"), (999, None)],
)
def test_it_ends_after_one_trial_with_the_remedies(
    tmp_path: Path, n: int, lower: str | None
) -> None:
    path, machine = tmp_path / "s.duckdb", ToyMachine(n=n)
    with pytest.raises(TuneError) as refused:
        tune(path, machine, "p99=1s")
    if lower is None:
        lower = ", or bound a lower quantile: 999 are enough for p95"
    assert str(refused.value) == f"{SHORT.format(n)}: play with 1000{lower}"
    assert machine.asked == [({}, 1)]
    with Study.open(path, read_only=True) as study:
        assert study.trials() == []


@pytest.mark.parametrize("n", [0, 10])
def test_in_the_lab_no_option_is_advised_that_is_refused_there(tmp_path: Path, n: int) -> None:
    few = Measurement({}, {}, None, shortage=Shortage("cannot be judged", n, 1000))
    lab = LabMachine("wal-alone", "stock", tmp_path)
    assert refusal(few, lab) == "cannot be judged: " + (
        "raise the scenario's number of requests by -e REQUESTS=1000"
        if n
        else "let run.sh of wal-alone name a --source that has every latency"
    )


class FewLater(ToyMachine):
    """The trials *short* have ten requests."""

    def __init__(self, *short: int):
        super().__init__()
        self.short = short

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        self.n = 10 if seed in self.short else 2000
        return super().trial(settings, seed, record=record, abort=abort)


@pytest.mark.parametrize("search", ["random", "gp"])
def test_a_later_trial_with_too_few_has_failed_and_is_never_met(
    tmp_path: Path, search: str
) -> None:
    with tune(tmp_path / "s.duckdb", FewLater(3, 4, 5), "p99=9ms", search=search) as study:
        rows = {row.trial_id: row for row in study.trials()}
        assert [n for n, row in rows.items() if row.failed] == [3, 4, 5]
        assert rows[3].failed == SHORT.format(10).replace("1s", "9ms")
        assert rows[3].ratios == {}
        assert not rows[3].observation.feasible


def test_a_candidate_whose_fresh_runs_have_too_few_is_not_confirmed(tmp_path: Path) -> None:
    with tune(tmp_path / "s.duckdb", FewLater(*range(14, 99)), "p99=9ms") as study:
        phases = {row.phase for row in study.trials() if row.failed}
        assert phases == {"confirm", "record"}
        assert outcome_of(study) == "not confirmed"


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """A study of a version that called SLOs met by any number of requests."""
    path = tmp_path / "older.duckdb"
    facts = {
        **ToyMachine().describe().facts,
        "slo": "p99=1s",
        "objective": "background",
        "disk": "sda",
    }
    few = Measurement({}, {}, 5.0, [SloValue("p99=1s", 8, 10**9, n_requests=10, n_beyond=0)])
    with Study.create(path, facts, ToyMachine().describe().knobs) as study:
        study.add("baseline", "", 1, few)
        study.add("confirm", "", 2, replace(few, proposed={"disk.scheduler": "rcp"}))
        winner = {"asked": {}, "settings": {"disk.scheduler": "rcp"}, "runs": [2], "objective": 5}
        study.decide("verdict", {"outcome": "met", **winner})
    return path


def test_what_an_older_version_called_met_is_told_as_not_judged(older: Path) -> None:
    with Study.open(older, read_only=True) as study:
        assert outcome_of(study) == "not judged"
        text = explanation(study)["text"]
    assert "not judged: its trials have too few requests: tune again, with more in each" in text
    assert " met" not in text.replace("neither met", "")

    def told(*words: str) -> str:
        return CliRunner().invoke(main, [words[0], str(older), *words[1:]]).stdout

    state = json.loads(told("status", "--format", "json"))
    assert (state["outcome"], state["failed"], state["best_trial"]) == ("not judged", 2, None)
    assert [row["ratios"] for row in json.loads(told("show", "--format", "json"))] == [{}, {}]
    assert "failed: p99=1s cannot be judged from 10 requests" in told("show")
    csv = told("export").splitlines()
    assert "cannot be judged" in csv[1]
    kept = CliRunner().invoke(main, ["keep", str(older)])
    assert kept.exit_code == 2
    assert "its settings are not confirmed" in kept.stderr
