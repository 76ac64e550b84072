"""Data of a study of rcp-tune: its trials, and what each knob contributed."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rcp.tuner.search.pareto import front, worst
from rcp.tuner.studies.comparable import comparable, usual
from rcp.tuner.studies.explain import explanation, outcome_of
from rcp.tuner.studies.records import KnobWrite, TrialRow
from rcp.tuner.studies.study import Study
from rcp.tuner.studies.wording import changed, objective_text, settings_text, slo_text
from rcp.tuner.trials.objective import parse

_KNOBS_SHOWN = 3
"""Knobs of a trial on one line; selecting the trial shows all."""

BASELINE = "baseline"
CONFIRMED = ("met", "met already")
"""Outcomes of a study whose SLOs hold."""


class StudySlo(NamedTuple):
    """An SLO of the study."""

    text: str
    bound_ns: int


class Setting(NamedTuple):
    """A knob as a trial set it."""

    knob: str
    what: str
    was: str
    """Before the study."""
    value: str


class Trial(NamedTuple):
    """One measurement under one set of settings."""

    trial_id: int
    phase: str
    why: str
    failed: str
    """Why it has no figures; "" if it has."""
    measured_ns: dict[str, int]
    """Measured quantile of each SLO, by the SLO's text."""
    ratio: float | None
    """The largest of measured quantile over bound: at most 1 if all SLOs hold."""
    objective: float | None
    """In the objective's unit."""
    gain: float | None
    """The objective relative to the baseline."""
    figures: str
    settings: list[Setting]
    settings_text: str
    is_on_front: bool
    wall_s: float
    recording: str


class Effect(NamedTuple):
    """Contribution of a knob of the winner: by what factor the winner is worse without it."""

    knob: str
    won: str
    default: str
    latency: float | None
    """None if the trial without it failed."""
    objective: float | None


class CauseOf(NamedTuple):
    """A cause in the slowest requests of a recorded trial."""

    trial_id: int
    kind: str
    culprit: str
    chain: str
    share: float


class StudyView(NamedTuple):
    """All data of a study that pages show."""

    head: str
    outcome: str
    text: str
    """The study as ``rcp-tune explain`` prints it."""
    is_virtual: bool
    objective: str
    unit: str
    bounds: list[StudySlo]
    trials: list[Trial]
    usual: Trial | None
    """The baseline trial, recorded or not like the trials it is compared with."""
    fresh: list[Trial]
    """The runs that confirmed the winner."""
    effects: list[Effect]
    together: str
    left_out: list[str]
    """Knobs without effect, which the winner leaves unchanged."""
    has_changed: bool
    """Whether the machine meets the SLOs by itself now, and did not at the start."""
    causes: list[CauseOf]
    writes: list[KnobWrite]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _effects(verdict: dict[str, Any]) -> list[Effect]:
    return [
        Effect(
            part["knob"],
            str(part["won"]),
            str(part["default"]),
            _number(part["latency"]) if part["objective"] else None,
            _number(part["objective"]) or None,
        )
        for part in verdict.get("ablation", [])
    ]


class _Study:
    """One study while it is read."""

    def __init__(self, study: Study) -> None:
        self.rows = study.trials()
        self.facts = study.facts()
        self.bounds_ns = study.bounds_ns()
        self.initial = study.initial()
        self.whats = {knob.name: knob for knob in study.knobs()}
        self.objective = parse(self.facts["objective"])
        self.baseline = usual(self.rows)
        self.usual = self.baseline.objective if self.baseline else None
        tried = [row for row in comparable(self.rows) if not row.failed]
        self.best = {tried[at].trial_id for at in front([row.observation for row in tried])}

    def _settings(self, row: TrialRow) -> list[Setting]:
        found = []
        for name, value in changed(row.settings, self.initial).items():
            knob = self.whats.get(name)
            unit = f" {knob.unit}" if knob and knob.unit else ""
            was = str(self.initial.get(name, "not there"))
            found.append(Setting(name, knob.what if knob else "", was, f"{value}{unit}"))
        return found

    def _figures(self, row: TrialRow) -> str:
        if row.failed:
            return "failed"
        told = [slo_text(ratio, self.bounds_ns[slo]) for slo, ratio in row.ratios.items()]
        return f"{', '.join(told)}; {objective_text(self.objective.text, row.objective)}"

    def trial(self, row: TrialRow) -> Trial:
        """Return one trial as pages show it."""
        set_ = changed(row.settings, self.initial)
        gain = row.objective / self.usual if row.objective is not None and self.usual else None
        return Trial(
            trial_id=row.trial_id,
            phase=row.phase,
            why=row.why,
            failed=row.failed,
            measured_ns={
                slo: round(ratio * self.bounds_ns[slo]) for slo, ratio in row.ratios.items()
            },
            ratio=None if row.failed else worst(row.observation),
            objective=None if row.objective is None else row.objective * self.objective.sign,
            gain=gain,
            figures=self._figures(row),
            settings=self._settings(row),
            settings_text=settings_text(set_, most=_KNOBS_SHOWN),
            is_on_front=row.trial_id in self.best,
            wall_s=row.wall_s,
            recording=row.recording or "",
        )


def study_view(study: Study) -> StudyView:
    """Return a study's data."""
    read, verdict = _Study(study), study.verdict()
    text = str(explanation(study)["text"])
    trials = [read.trial(row) for row in read.rows]
    fresh = verdict.get("verdict", {}).get("runs", [])
    return StudyView(
        head=text.splitlines()[0],
        outcome=outcome_of(study),
        text=text,
        is_virtual=read.facts.get("clock") == "virtual",
        objective=read.objective.text,
        unit=read.objective.unit,
        bounds=[StudySlo(slo, bound_ns) for slo, bound_ns in read.bounds_ns.items()],
        trials=trials,
        usual=read.trial(read.baseline) if read.baseline else None,
        fresh=[trial for trial in trials if trial.trial_id in fresh],
        effects=_effects(verdict),
        # Where no knob is needed the gain is not theirs: as in ``rcp-tune explain``.
        together=str(verdict.get("together", "")) if outcome_of(study) == "met" else "",
        left_out=list(verdict.get("verdict", {}).get("left_out", [])),
        has_changed=not verdict.get("verdict", {}).get("since_the_start", True),
        causes=[CauseOf(number, *cause) for number, cause in study.causes()],
        writes=study.writes(),
    )
