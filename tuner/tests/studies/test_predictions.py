"""What knobs were predicted to bring, beside what was measured."""

from dataclasses import replace
from pathlib import Path

import pytest

from rcp.analyzer.latencies.slo import parse
from rcp.analyzer.tests.whatif.worlds import two_culprits
from rcp.analyzer.whatif.by_kind import WithoutKinds
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.explain import explanation
from rcp.tuner.studies.predictions import gains_of, predictions_of
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.toy import KNOBS, ToyMachine, tune
from rcp.tuner.trials.measurement import Description
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort

SLO = "p99=5ms"
AGAINST_CONDITIONS = (KNOBS[0], replace(KNOBS[1], helps=("condition",)))


class RecordedToy(ToyMachine):
    """A toy whose recorded trials leave the recording of two culprits."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._recording = two_culprits().write(folder / "baseline.spool")

    def describe(self) -> Description:
        return replace(super().describe(), knobs=AGAINST_CONDITIONS)

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        raw = super().trial(settings, seed, record=record, abort=abort)
        return replace(raw, recording=self._recording) if record else raw


def test_a_recording_tells_what_each_group_of_knobs_may_bring(tmp_path: Path) -> None:
    spool = two_culprits().write(tmp_path / "a.spool")
    assert predictions_of(spool, AGAINST_CONDITIONS, parse(SLO)) == [
        WithoutKinds(("condition",), SLO, 10_000, 4000, 4000, 4000)
    ]


def test_a_recording_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "gone.duckdb"
    with pytest.raises(TuneError) as error:
        predictions_of(path, AGAINST_CONDITIONS, parse(SLO))
    assert str(error.value) == (f"{path} does not exist: `rcp-trace record` makes a recording.")


def test_a_gain_is_that_of_the_slo_missed_most() -> None:
    # Missed twofold at p99 and fourfold at p50: only the second counts, before and after.
    found = gains_of(
        [
            WithoutKinds(("device",), "p99=10ms", 20_000_000, 10_000_000, 0, 0),
            WithoutKinds(("device",), "p50=1ms", 4_000_000, 3_000_000, 0, 0),
        ],
        {"p99=10ms": 10_000_000, "p50=1ms": 1_000_000},
    )
    assert found.of(("device", "queue")) == pytest.approx(0.25)
    assert found.of(("condition",)) is None


def test_explain_says_predicted_and_measured_side_by_side(tmp_path: Path) -> None:
    with tune(tmp_path / "s.duckdb", RecordedToy(tmp_path), SLO, n_trials=3) as study:
        found = explanation(study)
        rows = {row.trial_id: row for row in study.trials()}
    told = found["predicted_and_measured"]
    # Of a trial that sets no tokens nothing is predicted: the scheduler acts on no kind.
    with_tokens = [n for n, row in rows.items() if row.phase == "search" and len(row.settings) == 2]
    assert [one["trial_id"] for one in told] == with_tokens
    assert with_tokens
    for one in told:
        assert (one["recorded_ns"], one["predicted_ns"]) == (10_000, 4000)
        assert one["measured_ns"] == rows[one["trial_id"]].settings["iosched.tokens"] * 1_000_000
    first = told[0]
    tokens = first["settings"]["iosched.tokens"]
    assert (
        f"  trial {first['trial_id']}: p99=5ms: 4 µs predicted (4 µs to 4 µs) instead of 10 µs, "
        f"{tokens} ms measured; disk.scheduler=rcp iosched.tokens={tokens}"
    ) in found["text"].splitlines()


def test_advice_says_what_is_predicted(tmp_path: Path) -> None:
    with tune(tmp_path / "s.duckdb", RecordedToy(tmp_path), SLO, n_trials=3) as study:
        reasons = [row.why for row in study.trials() if row.phase == "search"]
    assert any(why.endswith("at most 60 % less predicted") for why in reasons)


def test_without_a_recording_nothing_is_predicted(tmp_path: Path) -> None:
    with tune(tmp_path / "s.duckdb", ToyMachine(), SLO, n_trials=3) as study:
        found = explanation(study)
    assert found["predicted_and_measured"] == []
    assert "predicted" not in found["text"]


def test_a_search_that_has_begun_keeps_its_order(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    machine = RecordedToy(tmp_path)
    machine.die_after = 4
    with pytest.raises(KeyboardInterrupt):
        tune(path, machine, SLO, n_trials=3)
    with Study.open(path, read_only=False) as study:
        assert [row.phase for row in study.trials()][-1] == "search"
        study.decide("predictions", [])  # as a version without predictions left it
    with tune(path, RecordedToy(tmp_path / "again"), SLO, n_trials=3) as study:
        assert study.predictions() == []


def test_a_lost_recording_is_not_predicted_from(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    machine = RecordedToy(tmp_path)
    machine.die_after = 2  # after the baseline and its recording
    with pytest.raises(KeyboardInterrupt):
        tune(path, machine, SLO, n_trials=2)
    with Study.open(path, read_only=False) as study:
        study.decide("predictions", [])
    (tmp_path / "baseline.spool").rename(tmp_path / "moved.spool")
    with tune(path, RecordedToy(tmp_path / "again"), SLO, n_trials=2) as study:
        assert study.predictions() == []
        assert study.verdict()["verdict"]["outcome"] == "met"
