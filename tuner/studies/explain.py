"""The result of a study as text: verdict, settings and reasons, each knob's contribution."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rcp.analyzer.text import brief_duration, plural
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.search.pareto import front
from rcp.tuner.studies.comparable import comparable, usual
from rcp.tuner.studies.predictions import beside_measured
from rcp.tuner.studies.records import Cause, TrialRow
from rcp.tuner.studies.study import Study
from rcp.tuner.studies.wording import changed, objective_text, ratio_text, settings_text

_CAUSES_SHOWN = 5
# Share of the time of the slowest requests: a smaller one explains nothing.
_SHARE_SHOWN = 0.01
# Knobs of a point on the Pareto front that fit on a line; `rcp-tune show` prints all.
_KNOBS_SHOWN = 4


NOT_JUDGED = "not judged"


def outcome_of(study: Study) -> str:
    """Return met, met already, not confirmed, not reached, not judged, or unfinished.

    Not judged: a version of rcp-tune wrote it that called SLOs met by too few requests.
    """
    found = study.verdict().get("verdict", {})
    numbers = {found.get("trial_id"), *found.get("runs", [])}
    if found and any(row.failed for row in study.trials() if row.trial_id in numbers):
        return NOT_JUDGED
    return str(found.get("outcome", "unfinished"))


def shown(causes: Sequence[Cause]) -> Sequence[Cause]:
    """Return the causes to print, the largest first; the largest one always."""
    worth = [cause for cause in causes[1:_CAUSES_SHOWN] if cause.slow_share >= _SHARE_SHOWN]
    return [*causes[:1], *worth]


class _Explanation:
    """The paragraphs of the text about one study."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self.facts, self.verdict = study.facts(), study.verdict()
        self.rows = {row.trial_id: row for row in study.trials()}
        self.bounds_ns = study.bounds_ns()
        self.objective = self.facts["objective"]
        self.usual = usual(list(self.rows.values()))

    def figures(self, row: TrialRow) -> str:
        if row.failed:
            return f"failed: {row.failed}"
        text = f"{ratio_text(row.ratios, self.bounds_ns)}; {self.objective} "
        return text + objective_text(self.objective, row.objective) + self.share(row)

    def share(self, row: TrialRow) -> str:
        """Return the objective relative to the baseline."""
        usual = self.usual.objective if self.usual is not None else None
        if not usual or row.objective is None or row is self.usual:
            return ""
        return f" ({percent(row.objective / usual, 0)} of the baseline)"

    def head(self) -> Iterator[str]:
        clock = "virtual time" if self.facts.get("clock") == "virtual" else "hardware clock"
        yield f"{self.facts['slo']} on {self.facts['machine']}, {self.facts['kernel']}, {clock}"
        outcome, chosen = outcome_of(self.study), self.verdict.get("verdict", {})
        runs = chosen.get("runs", [])
        if outcome == "met":
            yield f"met, and confirmed by {plural(len(runs), 'fresh run')}"
        elif outcome == "met already":
            yield (
                "met now without any knob, not at the start: the machine has changed"
                if not chosen.get("since_the_start", True)
                else "met already on the machine as it is: nothing to tune"
            )
        elif outcome == NOT_JUDGED:
            yield "not judged: its trials have too few requests: tune again, with more in each"
        elif outcome == "not confirmed":
            yield "met in a trial, but fresh runs confirmed no candidate: not a result"
            for candidate in self.verdict.get("candidates", []):
                yield f"  {candidate['verdict']}: {settings_text(candidate['settings'])}"
        elif outcome == "not reached":
            yield "met by no trial; the closest settings follow"
        else:
            yield "the study is unfinished: continue it with --resume"

    def baseline(self) -> Iterator[str]:
        if self.usual is not None:
            yield f"machine as it is: {self.figures(self.usual)}"

    def causes(self) -> Iterator[str]:
        by_trial: dict[int, list[Any]] = {}
        for number, cause in self.study.causes():
            by_trial.setdefault(number, []).append(cause)
        chosen = self.verdict.get("verdict", {}).get("asked")
        before = [number for number in by_trial if not self.rows[number].proposed]
        found = [n for n in by_trial if self.rows[n].proposed and self.rows[n].proposed == chosen]
        # If all trials are recorded, the first and the last show what changed.
        yield from self._causes_of(by_trial, "on the machine as it is", before[:1])
        yield from self._causes_of(by_trial, "under the settings above", found[-1:])

    def _causes_of(
        self, by_trial: Mapping[int, Sequence[Cause]], where: str, numbers: Sequence[int]
    ) -> Iterator[str]:
        for number in numbers:
            yield f"causes of the slowest 1 % {where} (recorded in trial {number}):"
            for cause in shown(by_trial[number]):
                share = percent(cause.slow_share)
                yield f"  {share:>7}  {cause.kind} by {cause.culprit}: {cause.chain}"

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
            was = initial.get(name, "not present")
            change = f"{was} → {value}{unit}" if was != value else f"unchanged at {value}{unit}"
            yield f"  {name}: {change}  ({knob.what})"
        if names := found.get("left_out"):
            yield f"  left out, no contribution: {', '.join(names)}"
        for number in found.get("runs", []):
            yield f"  run {number}: {self.figures(self.rows[number])}"
        later = self.verdict.get("again", {})
        if later.get("runs"):
            yield f"  met in {later['held']} of {plural(later['runs'], 'later run')}"

    def contributions(self) -> Iterator[str]:
        found: list[Mapping[str, Any]] = self.verdict.get("ablation", [])
        if found:
            left_out = "left_out" in self.verdict.get("verdict", {})
            base = "the search's winner" if left_out else "these settings"
            yield f"contribution of each knob ({base} without that knob, one trial each):"
        for part in found:
            yield f"  without {part['knob']} = {part['won']}: {self._without(part)}"
        if (text := self.verdict.get("together")) and outcome_of(self.study) == "met":
            yield f"  {text}"

    def _without(self, part: Mapping[str, Any]) -> str:
        if not part["objective"]:
            return "the trial failed"
        latency = f"{part['latency']:.2f} times the latency"
        if not math.isfinite(part["objective"]):
            return latency  # no objective, with or without the knob
        return f"{latency}, {1 / part['objective']:.2f} times the {self.objective}"

    def predicted(self) -> Iterator[str]:
        if found := predicted_and_measured(self.study):
            yield "predicted, if the waits that the knobs act on were gone, and measured:"
        for one in found:
            after, low, high, before, measured = (
                brief_duration(one[f"{which}_ns"])
                for which in ("predicted", "low", "high", "recorded", "measured")
            )
            knobs = settings_text(one["settings"], most=_KNOBS_SHOWN)
            yield (
                f"  trial {one['trial_id']}: {one['slo']}: {after} predicted ({low} to {high}) "
                f"instead of {before}, {measured} measured; {knobs}"
            )

    def tradeoff(self) -> Iterator[str]:
        tried = [row for row in comparable(list(self.rows.values())) if not row.failed]
        best = front([row.observation for row in tried])
        if len(best) > 1:
            yield f"Pareto front of latency and {self.objective}:"
        initial = self.study.initial()
        for position in best if len(best) > 1 else ():
            row = tried[position]
            knobs = settings_text(changed(row.settings, initial), most=_KNOBS_SHOWN)
            yield f"  trial {row.trial_id}: {self.figures(row)}; {knobs}"

    def drift(self) -> Iterator[str]:
        if text := self.verdict.get("drift"):
            yield str(text)


def predicted_and_measured(study: Study) -> list[dict[str, Any]]:
    """Return what was predicted for the knobs of each trial of the search, and measured."""
    found = study.predictions(), study.knobs(), study.initial(), study.trials()
    return beside_measured(*found, study.bounds_ns())


def explanation(study: Study) -> dict[str, Any]:
    """Return the result of a study; ``text`` is the whole as lines."""
    paragraphs = _Explanation(study)
    parts = (
        paragraphs.head(),
        paragraphs.baseline(),
        paragraphs.chosen(),
        paragraphs.causes(),
        paragraphs.contributions(),
        paragraphs.predicted(),
        paragraphs.tradeoff(),
        paragraphs.drift(),
    )
    text = "\n".join(spelled([line for part in parts for line in part]))
    return {
        "outcome": outcome_of(study),
        "facts": paragraphs.facts,
        "verdict": paragraphs.verdict,
        "initial": study.initial(),
        "causes": [{"trial_id": n, **cause._asdict()} for n, cause in study.causes()],
        "predicted_and_measured": predicted_and_measured(study),
        "text": text,
    }
