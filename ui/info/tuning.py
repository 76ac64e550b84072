"""What a study of rcp-tune tells: its trials, what they cost, and what each knob is worth."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from rcp.tuner.search.pareto import front, worst
from rcp.tuner.studies.comparable import comparable, usual
from rcp.tuner.studies.explain import explanation, outcome_of
from rcp.tuner.studies.study import Row, Study, Write
from rcp.tuner.studies.wording import changed, objective_text, settings_text, slo_text
from rcp.tuner.trials.objective import parse

_KNOBS_SHOWN = 3
"""Of a trial on one line; selecting it shows all."""

BASELINE = "baseline"
CONFIRMED = ("met", "met already")
"""Outcomes of a study whose SLOs hold."""


class Bound(NamedTuple):
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
    """Why it has no figures, "" when it has."""
    measured_ns: dict[str, int]
    """What each SLO's quantile came to, by its text."""
    ratio: float | None
    """The worst of them over its bound: at most 1 when all SLOs hold."""
    objective: float | None
    """In the objective's unit."""
    gain: float | None
    """The objective over that of the machine as it was."""
    figures: str
    settings: list[Setting]
    set_shortly: str
    is_on_front: bool
    wall_s: float
    recording: str


class Effect(NamedTuple):
    """What a knob of the winner bought: how many times worse the winner is without it."""

    knob: str
    won: str
    default: str
    latency: float | None
    """None when the trial without it failed."""
    objective: float | None


class CauseOf(NamedTuple):
    """What made the slowest requests of a recorded trial slow."""

    trial_id: int
    kind: str
    culprit: str
    chain: str
    share: float


class Told(NamedTuple):
    """Everything a study tells."""

    head: str
    outcome: str
    text: str
    """The same in words, as ``rcp-tune explain`` prints it."""
    is_virtual: bool
    objective: str
    unit: str
    bounds: list[Bound]
    trials: list[Trial]
    usual: Trial | None
    """The machine as it is, recorded or not as the others: what they are held against."""
    fresh: list[Trial]
    """The runs that confirmed the winner."""
    effects: list[Effect]
    together: str
    left_out: list[str]
    """Knobs that bought nothing, which the winner does without."""
    causes: list[CauseOf]
    writes: list[Write]


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

    def _settings(self, row: Row) -> list[Setting]:
        found = []
        for name, value in changed(row.settings, self.initial).items():
            knob = self.whats.get(name)
            unit = f" {knob.unit}" if knob and knob.unit else ""
            was = str(self.initial.get(name, "not there"))
            found.append(Setting(name, knob.what if knob else "", was, f"{value}{unit}"))
        return found

    def _figures(self, row: Row) -> str:
        if row.failed:
            return "failed"
        told = [slo_text(ratio, self.bounds_ns[slo]) for slo, ratio in row.ratios.items()]
        return f"{', '.join(told)}; {objective_text(self.objective.text, row.objective)}"

    def trial(self, row: Row) -> Trial:
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
            set_shortly=settings_text(set_, most=_KNOBS_SHOWN),
            is_on_front=row.trial_id in self.best,
            wall_s=row.wall_s,
            recording=row.recording or "",
        )


def told(study: Study) -> Told:
    """Read a study."""
    read, verdict = _Study(study), study.verdict()
    text = str(explanation(study)["text"])
    trials = [read.trial(row) for row in read.rows]
    fresh = verdict.get("verdict", {}).get("runs", [])
    return Told(
        head=text.splitlines()[0],
        outcome=outcome_of(study),
        text=text,
        is_virtual=read.facts.get("clock") == "virtual",
        objective=read.objective.text,
        unit=read.objective.unit,
        bounds=[Bound(slo, bound_ns) for slo, bound_ns in read.bounds_ns.items()],
        trials=trials,
        usual=read.trial(read.baseline) if read.baseline else None,
        fresh=[trial for trial in trials if trial.trial_id in fresh],
        effects=_effects(verdict),
        together=str(verdict.get("together", "")),
        left_out=list(verdict.get("verdict", {}).get("left_out", [])),
        causes=[CauseOf(number, *cause) for number, cause in study.causes()],
        writes=study.writes(),
    )
