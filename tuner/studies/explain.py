"""What a study found, in words: the verdict, the settings and why, what each knob bought."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rcp.tuner.search.pareto import front
from rcp.tuner.studies.comparable import comparable, usual
from rcp.tuner.studies.study import Cause, Row, Study
from rcp.tuner.studies.wording import changed, objective_text, ratio_text, settings_text

_CAUSES_SHOWN = 5
# Of the time of the slowest requests: less than that explains nothing.
_SHARE_SHOWN = 0.01
# Of a point on the Pareto front: more would not fit on a line; `rcp-tune show` has all.
_KNOBS_SHOWN = 4


def outcome_of(study: Study) -> str:
    """Return met, met already, not confirmed, not reached, or unfinished."""
    return str(study.verdict().get("verdict", {}).get("outcome", "unfinished"))


def shown(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return the causes worth a line, the largest first; always the largest."""
    worth = [cause for cause in causes[1:_CAUSES_SHOWN] if cause.slow_share >= _SHARE_SHOWN]
    return [*causes[:1], *worth]


class _Told:
    """One study, about to be told."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.facts, self.verdict = study.facts(), study.verdict()
        self.rows = {row.trial_id: row for row in study.trials()}
        self.bounds_ns = study.bounds_ns()
        self.objective = self.facts["objective"]
        self.usual = usual(list(self.rows.values()))

    def figures(self, row: Row) -> str:
        if row.failed:
            return f"failed: {row.failed}"
        told = f"{ratio_text(row.ratios, self.bounds_ns)}; {self.objective} "
        return told + objective_text(self.objective, row.objective) + self.share(row)

    def share(self, row: Row) -> str:
        """How much of the objective as the machine is."""
        usual = self.usual.objective if self.usual is not None else None
        if not usual or row.objective is None or row is self.usual:
            return ""
        return f" ({row.objective / usual:.0%} of what it was)"

    def head(self) -> Iterator[str]:
        clock = "virtual time" if self.facts.get("clock") == "virtual" else "hardware's time"
        yield f"{self.facts['slo']} on {self.facts['machine']}, {self.facts['kernel']}, {clock}"
        outcome, chosen = outcome_of(self.study), self.verdict.get("verdict", {})
        runs = chosen.get("runs", [])
        if outcome == "met":
            yield f"met, and confirmed by {len(runs)} fresh runs"
        elif outcome == "met already":
            yield "met already, as the machine is: nothing to tune"
        elif outcome == "not confirmed":
            yield "met in a trial, but no candidate was confirmed by fresh runs: not a result"
            for candidate in self.verdict.get("candidates", []):
                yield f"  {candidate['verdict']}: {settings_text(candidate['settings'])}"
        elif outcome == "not reached":
            yield "not reached by any trial; the closest settings follow"
        else:
            yield "the study is unfinished: go on with --resume"

    def baseline(self) -> Iterator[str]:
        if self.usual is not None:
            yield f"as the machine is: {self.figures(self.usual)}"

    def causes(self) -> Iterator[str]:
        by_trial: dict[int, list[Any]] = {}
        for number, cause in self.study.causes():
            by_trial.setdefault(number, []).append(cause)
        chosen = self.verdict.get("verdict", {}).get("asked")
        before = [number for number in by_trial if not self.rows[number].asked]
        found = [n for n in by_trial if self.rows[n].asked and self.rows[n].asked == chosen]
        # Where all trials are recorded, the first and the last tell what changed.
        yield from self._causes_of(by_trial, "as the machine is", before[:1])
        yield from self._causes_of(by_trial, "under the settings above", found[-1:])

    def _causes_of(
        self, by_trial: Mapping[int, Sequence[Cause]], what: str, numbers: Sequence[int]
    ) -> Iterator[str]:
        for number in numbers:
            yield f"what made the slowest 1 % slow {what} (recorded in trial {number}):"
            for cause in shown(by_trial[number]):
                yield f"  {cause.slow_share:6.1%}  {cause.kind} by {cause.culprit}: {cause.chain}"

    def chosen(self) -> Iterator[str]:
        found = self.verdict.get("verdict", {})
        if "settings" not in found:
            return
        initial, why = self.study.initial(), found.get("why", "")
        yield f"settings ({why}):" if why else "settings:"
        whats = {knob.name: knob for knob in self.study.knobs()}
        for name, value in found["settings"].items():
            knob = whats[name]
            unit = f" {knob.unit}" if knob.unit else ""
            was = initial.get(name, "not there")
            told = f"{was} → {value}{unit}" if was != value else f"kept at {value}{unit}"
            yield f"  {name}: {told}  ({knob.what})"
        if names := found.get("left_out"):
            yield f"  left out, for they bought nothing: {', '.join(names)}"
        for number in found.get("runs", []):
            yield f"  run {number}: {self.figures(self.rows[number])}"
        later = self.verdict.get("again", {})
        if later.get("runs"):
            yield f"  held in {later['held']} of {later['runs']} later runs"

    def bought(self) -> Iterator[str]:
        found: list[Mapping[str, Any]] = self.verdict.get("ablation", [])
        if found:
            left_out = "left_out" in self.verdict.get("verdict", {})
            whose = "what the search found" if left_out else "these settings"
            yield f"what each knob bought (a trial each: {whose} with that knob put back):"
        for part in found:
            yield f"  without {part['knob']} = {part['won']}: {self._without(part)}"
        if text := self.verdict.get("together"):
            yield f"  {text}"

    def _without(self, part: Mapping[str, Any]) -> str:
        if not part["objective"]:
            return "the trial failed"
        latency = f"{part['latency']:.2f} times the latency"
        if not math.isfinite(part["objective"]):
            return latency  # there was nothing of the objective, with or without
        return f"{latency}, {1 / part['objective']:.2f} times the {self.objective}"

    def tradeoff(self) -> Iterator[str]:
        tried = [row for row in comparable(list(self.rows.values())) if not row.failed]
        best = front([row.observation for row in tried])
        if len(best) > 1:
            yield f"the least that each gain of {self.objective} costs (Pareto front):"
        initial = self.study.initial()
        for position in best if len(best) > 1 else ():
            row = tried[position]
            knobs = settings_text(changed(row.settings, initial), most=_KNOBS_SHOWN)
            yield f"  trial {row.trial_id}: {self.figures(row)}; {knobs}"

    def drift(self) -> Iterator[str]:
        if text := self.verdict.get("drift"):
            yield str(text)


def explanation(study: Study) -> dict[str, Any]:
    """Return everything a study found, with the whole as ``text``."""
    told = _Told(study)
    parts = (
        told.head(),
        told.baseline(),
        told.chosen(),
        told.causes(),
        told.bought(),
        told.tradeoff(),
        told.drift(),
    )
    text = "\n".join(line for part in parts for line in part)
    return {
        "outcome": outcome_of(study),
        "facts": told.facts,
        "verdict": told.verdict,
        "initial": study.initial(),
        "causes": [{"trial_id": n, **cause._asdict()} for n, cause in study.causes()],
        "text": text,
    }
