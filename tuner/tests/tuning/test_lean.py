"""What is left out of a winner, worked out by hand, and what becomes of a study by it."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.studies.explain import explanation, outcome_of
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.knob_rows import number
from rcp.tuner.tests.toy import KNOBS, ToyMachine, tune
from rcp.tuner.trials.measurement import Description
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort
from rcp.tuner.tuning.ablation import Contribution, without
from rcp.tuner.tuning.lean import costs_nothing, idle, most

IDLE = tuple(
    number(f"rcp.idle_{name}", what="nothing", default=5, low=1, high=90) for name in "abc"
)


def part(knob: str, latency: float, objective: float = 1.0, *, is_met: bool = True) -> Contribution:
    return Contribution(
        knob=knob, won=7, default=5, latency=latency, objective=objective, is_met=is_met
    )


def test_idle_knobs_contribute_neither_latency_nor_objective() -> None:
    parts = [
        part("kept for the latency", 1.2),
        part("kept for the objective", 0.9, 1.2),
        part("kept for its trial failed", math.inf, 0.0),
        part("kept for the bound lies between", 1.05, is_met=False),
        part("idle", 1.05),
        part("harmful", 0.7, 0.8),
        part("idle, of no objective", 1.0, math.nan),
    ]
    assert idle(parts) == ["harmful", "idle, of no objective", "idle"]


def test_how_many_can_be_left_out_is_found_by_halving_in_three_tries() -> None:
    def tries(n: int, holding: int) -> tuple[int, list[int]]:
        asked: list[int] = []

        def holds(count: int) -> bool:
            asked.append(count)
            return count <= holding

        return most(n, holds), asked

    assert tries(8, 8) == (8, [8])
    assert tries(8, 5) == (4, [8, 4, 6])
    assert tries(8, 7) == (6, [8, 4, 6])
    assert tries(8, 0) == (0, [8, 4, 2])
    assert tries(2, 0) == (0, [2, 1])
    assert tries(0, 0) == (0, [])


def test_what_is_left_out_is_put_back() -> None:
    winner: dict[str, Value] = {"disk.scheduler": "rcp", "iosched.tokens": 4}
    winner |= {knob.name: 7 for knob in IDLE}
    assert without((*KNOBS, *IDLE), winner, ["rcp.idle_c", "rcp.idle_a"]) == (
        {**winner, "rcp.idle_a": 5, "rcp.idle_c": 5}
    )


def test_what_hangs_on_an_idle_knob_goes_with_it() -> None:
    winner: dict[str, Value] = {"disk.scheduler": "rcp", "iosched.tokens": 4}
    assert without(KNOBS, winner, ["disk.scheduler"]) == {"disk.scheduler": "none"}


def test_an_objective_to_have_less_of_is_negative() -> None:
    assert costs_nothing(100, 96)
    assert not costs_nothing(100, 94)
    assert costs_nothing(-100, -104)
    assert not costs_nothing(-100, -106)


class Idle(ToyMachine):
    """Has three knobs more, which do nothing."""

    def describe(self) -> Description:
        """Five knobs."""
        found = super().describe()
        usual: dict[str, Value] = {knob.name: knob.default for knob in IDLE}
        return Description((*KNOBS, *IDLE), {**found.values, **usual}, found.facts)


def tuned(path: Path, machine: ToyMachine, n_again: int = 0, search: str = "gp") -> Study:
    """Tune without advice, so that a search sets what is idle: a model all, random trials some."""
    return tune(path, machine, "p99=9ms", search=search, advised=False, n_again=n_again)


def test_a_winner_is_told_without_what_bought_nothing_once_fresh_runs_confirm_it(
    tmp_path: Path,
) -> None:
    with tuned(tmp_path / "s.duckdb", Idle(), n_again=2) as study:
        verdict, rows = study.verdict(), {row.trial_id: row for row in study.trials()}
        text = explanation(study)["text"]
    found = verdict["verdict"]
    assert set(found["settings"]) == {"disk.scheduler", "iosched.tokens"}
    assert sorted(found["left_out"]) == ["rcp.idle_a", "rcp.idle_b", "rcp.idle_c"]
    assert [rows[number].phase for number in found["runs"]] == ["confirm", "confirm"]
    assert {part["knob"] for part in verdict["ablation"]} >= set(found["left_out"])
    assert "  left out, no contribution: rcp.idle_a, rcp.idle_b, rcp.idle_c" in text.splitlines()
    assert "(the search's winner without that knob, one trial each)" in text
    # What remains is recorded, and what is run later is run, with what is told.
    later = [row for row in rows.values() if row.phase in ("record", "again")]
    assert [row.proposed for row in later] == [{}, *[found["asked"]] * 3]


def test_knobs_that_are_needed_together_stay(tmp_path: Path) -> None:
    with tuned(tmp_path / "whole.duckdb", Idle()) as study:
        first, _ = study.verdict()["verdict"]["runs"]
    with tuned(tmp_path / "failing.duckdb", Idle(fail=(first,))) as study:
        assert outcome_of(study) == "met"
        assert study.verdict()["verdict"]["left_out"] == ["rcp.idle_a", "rcp.idle_b"]
    both = Idle(fail=(first, first + 1))
    with tuned(tmp_path / "both.duckdb", both) as study:
        assert outcome_of(study) == "met"
        assert "left_out" not in study.verdict()["verdict"]
        assert "these settings without that knob" in explanation(study)["text"]


class Faster(Idle):
    """A machine that becomes faster, whatever is set: 60 ms at first, then 5 ms."""

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        """The same for all settings."""
        same: Settings = {"disk.scheduler": "rcp", "iosched.tokens": 60 if seed < 2 else 5}
        found = super().trial(same, seed, record=record, abort=abort)
        return replace(found, proposed=settings, settings=settings)


def test_a_machine_that_has_become_faster_is_no_work_of_the_knobs(tmp_path: Path) -> None:
    path = tmp_path / "s.duckdb"
    # One baseline: a second one would show that runs differ too much to confirm anything.
    few = tune(path, Faster(), "p99=9ms", n_trials=6, search="gp", advised=False, record=False)
    with few as study:
        text, verdict = explanation(study)["text"].splitlines(), study.verdict()
        assert outcome_of(study) == "met already"
    assert text[1] == "met now without any knob, not at the start: the machine has changed"
    assert text[-1].startswith("the baseline is 0.08 times what it was: the machine has changed")
    assert "settings" not in verdict["verdict"]


def test_an_interrupted_study_is_left_as_lean(tmp_path: Path) -> None:
    whole = Idle()
    with tuned(tmp_path / "whole.duckdb", whole, 1, "random") as study:
        verdict = study.verdict()
    assert verdict["verdict"]["left_out"] == ["rcp.idle_c"]
    for back in (1, 2, 3, 4, 6):
        broken, rest = Idle(die_after=len(whole.asked) - back), Idle()
        path = tmp_path / f"broken-{back}.duckdb"
        with pytest.raises(KeyboardInterrupt):
            tuned(path, broken, 1, "random")
        with tuned(path, rest, 1, "random") as study:
            assert broken.asked + rest.asked == whole.asked, back
            assert study.verdict() == verdict
