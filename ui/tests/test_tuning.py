"""What a page tells of a study of rcp-tune."""

import itertools
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.db.store import StoreError
from rcp.fixtures.synth import Synth
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.studies.records import KnobWrite
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.measurement import Measurement, SloValue
from rcp.ui import studies
from rcp.ui.charts import tuning as charts
from rcp.ui.info.tuning import Effect, Setting, StudySlo, StudyView, study_view
from rcp.ui.screens.tuning import _OUTCOMES, _TRIALS, _trial_row
from rcp.ui.tests.test_screens import said

Page = Callable[..., Any]
SLO = "p99=10ms@fsync"
HOSTILE = "<script>alert(1)</script> **bold**"


def measured(settings: dict[str, Any], ms: int, objective: float) -> Measurement:
    slo = SloValue(SLO, ms * 1_000_000, 10_000_000, 1000, 10)
    return Measurement(settings, settings, objective, [slo], [])


def study_at(path: Path, *, ends: bool = True) -> Path:
    """Baseline 40 ms at 100 MB/s; 8 ms at 50, 20 ms at 60 (beaten by none), one that failed."""
    facts = {"slo": SLO, "objective": "background", "machine": "m", "kernel": "k"}
    knobs = [Knob("q", HOSTILE, "requests", "stock", 64, "log", 1, 64)]
    with Study.create(path, facts, knobs) as study:
        study.set_initial({"q": 64})
        study.add("baseline", "as the machine is", 1, measured({}, 40, 100e6))
        study.add("search", HOSTILE, 2, measured({"q": 1}, 8, 50e6))
        study.add("search", "why", 3, measured({"q": 8}, 20, 60e6))
        study.add("search", "why", 4, Measurement({"q": 2}, {"q": 2}, None, failed="no such disk"))
        if ends:
            study.add("confirm", "a fresh run", 5, measured({"q": 1}, 9, 50e6))
            winner = {"outcome": "met", "settings": {"q": 1}, "runs": [5], "asked": {}}
            study.decide("verdict", {**winner, "left_out": ["s", "t"]})
            part = {"knob": "q", "won": 1, "default": 64, "latency": 5.0, "objective": 0.5}
            gone = {"knob": "r", "won": 1, "default": 0, "latency": math.inf, "objective": 0.0}
            study.decide("ablation", [part, gone])
            study.decide("together", "the knobs act each by itself")
    return path


@pytest.fixture
def found(tmp_path: Path) -> StudyView:
    with Study.open(study_at(tmp_path / "study.duckdb"), read_only=True) as study:
        return study_view(study)


def test_trials_are_held_against_the_slo_and_the_machine_as_it_was(found: StudyView) -> None:
    assert found.bounds == [StudySlo(SLO, 10_000_000)]
    assert [trial.ratio for trial in found.trials] == [4.0, 0.8, 2.0, None, 0.9]
    assert [trial.gain for trial in found.trials] == [1.0, 0.5, 0.6, None, 0.5]
    assert found.trials[1].measured_ns == {SLO: 8_000_000}
    assert found.trials[1].settings == [Setting("q", HOSTILE, "64", "1 requests")]
    assert found.trials[3].failed == "no such disk"


def test_trials_with_too_few_requests_are_shown_as_failed_and_never_met(tmp_path: Path) -> None:
    path = study_at(tmp_path / "study.duckdb", ends=False)
    few = Measurement({"q": 1}, {"q": 1}, 50e6, [SloValue(SLO, 8, 10_000_000, 10, 0)], [])
    with Study.open(path, read_only=False) as study:
        number = study.add("confirm", "a fresh run", 5, few)
        study.decide(
            "verdict", {"outcome": "met", "settings": {"q": 1}, "runs": [number], "asked": {}}
        )
        found = study_view(study)
    assert found.outcome == "not judged"
    assert found.outcome in _OUTCOMES
    last = found.trials[-1]
    assert (last.ratio, last.measured_ns, last.is_on_front) == (None, {}, False)
    assert last.failed.startswith("p99=10ms@fsync cannot be judged from 10 requests: 1000 are")


def test_the_front_leaves_out_what_is_beaten_in_both(found: StudyView) -> None:
    assert [trial.trial_id for trial in found.trials if trial.is_on_front] == [1, 2, 3]


def test_a_trial_that_was_recorded_unlike_the_others_is_held_against_nothing(
    tmp_path: Path,
) -> None:
    path = study_at(tmp_path / "study.duckdb")
    with Study.open(path, read_only=False) as study:
        # On the front by its figures: recording may make a trial better than it is, too.
        of_causes = replace(measured({"q": 4}, 1, 90e6), recording=Path("recording"))
        study.add("record", "what remains", 6, of_causes)
    with Study.open(path, read_only=True) as study:
        assert [trial.trial_id for trial in study_view(study).trials if trial.is_on_front] == [
            1,
            2,
            3,
        ]


def test_the_machine_as_it_is_is_told_by_a_baseline_like_the_others(tmp_path: Path) -> None:
    facts = {"slo": SLO, "objective": "background", "machine": "m", "kernel": "k"}
    with Study.create(tmp_path / "study.duckdb", facts, []) as study:
        study.set_initial({})
        slowed = replace(measured({}, 60, 90e6), recording=Path("recording"))
        study.add("baseline", "as the machine is", 1, slowed)
        study.add("search", "why", 2, measured({}, 8, 50e6))
        study.add("baseline", "again", 3, measured({}, 40, 100e6))
    with Study.open(tmp_path / "study.duckdb", read_only=True) as study:
        usual = study_view(study).usual
    assert usual is not None
    assert usual.figures == "40 ms missed; 100 MB/s"


def test_a_knob_without_which_the_trial_failed_has_no_factor(found: StudyView) -> None:
    assert found.effects == [Effect("q", "1", "64", 5.0, 0.5), Effect("r", "1", "0", None, None)]


def test_fresh_runs_are_the_winners_not_those_of_the_next_best(tmp_path: Path) -> None:
    path = study_at(tmp_path / "study.duckdb", ends=False)
    with Study.open(path, read_only=False) as study:
        for number, queue in ((5, 1), (6, 1), (7, 2)):
            study.add("confirm", "a fresh run", number, measured({"q": queue}, 9, 50e6))
        study.decide("verdict", {"outcome": "met", "settings": {"q": 1}, "runs": [5, 6]})
    with Study.open(path, read_only=True) as study:
        assert [trial.trial_id for trial in study_view(study).fresh] == [5, 6]


def test_writes_are_in_order(found: StudyView) -> None:
    assert found.writes == [
        KnobWrite(2, 0, "q", "1"),
        KnobWrite(3, 0, "q", "8"),
        KnobWrite(4, 0, "q", "2"),
        KnobWrite(5, 0, "q", "1"),
    ]


def test_an_unfinished_study_has_no_effects(tmp_path: Path) -> None:
    with Study.open(study_at(tmp_path / "s.duckdb", ends=False), read_only=True) as study:
        unfinished = study_view(study)
    assert unfinished.outcome == "unfinished"
    assert unfinished.effects == []


def test_pictures_have_a_mark_for_every_trial(found: StudyView) -> None:
    over_time = charts.trials(found, found.bounds[0], False)["datasets"]
    assert [row["trial"] for row in over_time["measured"]] == [1, 2, 3, 5]
    assert [row["trial"] for row in over_time["failed"]] == [4]
    pareto = charts.pareto(found, found.bounds[0], True)["datasets"]
    assert [row["trial"] for row in pareto["front"]] == [2, 3, 1]  # by the objective
    assert [row["trial"] for row in pareto["below"]] == [2, 1]
    (row,) = charts.effects(found.effects, False)["datasets"]["effects"]
    assert row["text"] == "×5.00"


def test_only_studies_are_offered(tmp_path: Path, saved: Any) -> None:
    study = study_at(tmp_path / "study.duckdb")
    saved(Synth(), "recording.duckdb")
    (tmp_path / "junk.duckdb").write_text("hello")
    assert studies.offered([], [tmp_path, tmp_path / "gone"]) == [str(study)]


def test_a_study_of_a_newer_release_is_offered_and_says_so(tmp_path: Path) -> None:
    path = study_at(tmp_path / "study.duckdb")
    with Study.open(path, read_only=False) as study:
        study._store.write("UPDATE meta SET value = '99' WHERE key = 'study_version'")
    assert studies.is_study(path)
    with pytest.raises(StoreError, match="has study version 99"):
        studies.read(path)


def test_a_study_can_be_gone_on_with_while_it_is_shown(tmp_path: Path) -> None:
    path = study_at(tmp_path / "study.duckdb", ends=False)
    assert len(studies.read(path).trials) == 4
    with Study.open(path, read_only=False) as study:
        study.add("search", "why", 5, measured({"q": 4}, 9, 50e6))
    assert len(studies.read(path).trials) == 5


def test_the_page_of_a_study_shows_a_trial_of_the_link(
    page: Page, saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = study_at(tmp_path / "study.duckdb")
    monkeypatch.setenv(studies.STUDIES_VARIABLE, json.dumps([str(path)]))
    shown = page("tuning", saved(Synth(), "empty.duckdb"), trial=2)
    assert not shown.exception
    assert not shown.error
    words = said(shown)
    assert "fresh runs confirmed it" in words
    assert "Left out of the winner, without effect: s, t" in words
    assert "Trial 2" in words
    assert HOSTILE in words  # put as text, which reads no Markdown


def test_a_study_that_an_address_names_as_a_recording_is_one_click_away(
    page: Page, saved: Any, tmp_path: Path
) -> None:
    path = study_at(tmp_path / "study.duckdb")
    recording = saved(Synth(), "empty.duckdb")
    shown = page("overview", recording, file=path)
    (error,) = shown.error
    assert error.value.replace("\\", "") == (
        "study.duckdb is a study of rcp-tune, not a recording: see Tuning."
    )
    links = [e.proto for e in shown.main if "Open the study" in str(getattr(e, "proto", ""))]
    assert [(link.page, link.query_string) for link in links] == [
        ("tuning", urlencode({"study": path}))
    ]
    compared = page("compare", recording, other=path)
    (error,) = compared.error
    assert "is a study of rcp-tune" in error.value.replace("\\", "")


def test_shares_of_the_baseline_are_told_in_one_form(found: StudyView) -> None:
    assert [_trial_row(trial)["gain"] for trial in found.trials] == [100, 50, 60, None, 50]
    assert _TRIALS["gain"].format == "%.1f %%"  # as in other texts: 51.7 %


def test_the_axis_of_trials_has_no_labels_beyond_the_last(found: StudyView) -> None:
    (x,) = [
        layer["encoding"]["x"]
        for layer in charts.trials(found, found.bounds[0], False)["layer"]
        if layer["data"] == {"name": "measured"}
    ]
    assert x["axis"]["labelExpr"] == "datum.value <= 5 ? datum.label : ''"


def test_a_study_that_is_gone_is_one_line(
    page: Page, saved: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(studies.STUDIES_VARIABLE, json.dumps([str(tmp_path / "gone.duckdb")]))
    shown = page("tuning", saved(Synth(), "empty.duckdb"))
    (error,) = shown.error
    assert "gone.duckdb does not exist" in error.value.replace("\\", "")
    assert "\n" not in error.value


@given(
    trials=st.lists(
        st.tuples(st.floats(1e6, 1e9), st.integers(10**6, 10**9)), min_size=1, max_size=30
    )
)
def test_numbers_of_trials_do_not_cover_each_other(trials: list[tuple[float, int]]) -> None:
    rows = [{"objective": objective, "dur": dur} for objective, dur in sorted(trials)]
    kept = charts.apart(rows, rows)
    assert kept[0] == rows[0]
    objectives, latencies = zip(*trials, strict=True)
    wide = max(objectives) - min(objectives) or 1
    tall = math.log10(max(latencies) / min(latencies)) or 1
    for one, other in itertools.combinations(kept, 2):
        right = abs(one["objective"] - other["objective"]) / wide * 250
        down = abs(math.log10(one["dur"] / other["dur"])) / tall * 200
        assert right > 19.9 or down > 13.9
