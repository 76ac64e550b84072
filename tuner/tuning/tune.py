"""One tuning from start to end: baseline, search, confirmation, ablation, verdict.

Every step is written to the study before the next begins: a resumed study continues with the next.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.pareto import worst
from rcp.tuner.studies.causes import causes_of
from rcp.tuner.studies.comparable import baselines, comparable
from rcp.tuner.studies.predictions import gains_of, predictions_of
from rcp.tuner.studies.records import Cause, TrialRow
from rcp.tuner.studies.study import Study
from rcp.tuner.studies.wording import changed
from rcp.tuner.trials.measurement import to_set
from rcp.tuner.tuning import ablation, confirm, drift, lean
from rcp.tuner.tuning.first_trial import refusal
from rcp.tuner.tuning.hopeless import abort_rule
from rcp.tuner.tuning.limits import Budget, Limits
from rcp.tuner.tuning.tools import Tools
from rcp.tuner.tuning.verdict import mean_objective, summary, unless_as_it_is, verdict_of

BASELINE, SEARCH, CONFIRM = "baseline", "search", "confirm"
RECORD, ABLATION, AGAIN = "record", "ablation", "again"


class Tuning:
    """A tuning in progress."""

    def __init__(self, study: Study, tools: Tools, limits: Limits) -> None:
        """Continue *study* from its present state."""
        self._study, self._tools, self._limits = study, tools, limits
        self._budget = Budget(limits.budget_s)
        self._rows = study.trials()

    def run(self) -> None:
        """Run all remaining steps; the result is in the study."""
        first = self._first()
        if first.observation.feasible:
            self._study.decide("verdict", {"outcome": "met already", "trial_id": first.trial_id})
            return
        causes = self._causes(first)
        self._predict(first)
        search = self._search(causes)
        if not baselines(self._rows):
            self._trial(BASELINE, "again, recorded or not like the trials it is compared with", {})
        winner = self._confirm(search)
        if winner and self._limits.ablation:
            winner = self._without_idle(winner, self._ablate(winner))
        self._record_what_remains()
        if winner:
            self._run_again(winner[0].proposed)
        self._study.decide("drift", self._drift_text())

    def _first(self) -> TrialRow:
        """Return the first baseline; raises TuneError, and stores nothing, if it has no figures."""
        found = next((row for row in self._phase(BASELINE) if not row.failed), None)
        return found or self._trial(BASELINE, "the machine as it is", {}, must=True)

    def _phase(self, phase: str) -> list[TrialRow]:
        return [row for row in self._rows if row.phase == phase]

    def _trial(
        self, phase: str, why: str, settings: Settings, *, record: bool = False, must: bool = False
    ) -> TrialRow:
        """Run one trial and store it; its number is its seed, so that no two runs are equal.

        *must*: without figures it is an error, and not stored.
        """
        seed = len(self._rows) + 1
        self._tools.listener.begun(phase, why, settings)
        recorded = record and self._limits.record
        abort = abort_rule(self._tools.judge.slos) if phase == SEARCH else None
        with self._study.released(self._tools.listener.note):
            raw = self._tools.machine.trial(settings, seed, record=recorded, abort=abort)
            measurement = self._tools.judge.judge(raw)
            causes = causes_of(raw.recording) if raw.recording else []
        if must and measurement.failed:
            raise TuneError(refusal(measurement, self._tools.machine))
        self._study.add(phase, why, seed, measurement, causes)
        self._rows = self._study.trials()
        self._tools.listener.ended(self._rows[-1], self._budget.left_s)
        return self._rows[-1]

    def _causes(self, first: TrialRow) -> list[Cause]:
        """Return the causes of delay on the machine as it is.

        They are recorded in a trial of their own unless *first*, the baseline, has a recording:
        recording takes time, and the trials compared with the baseline are not recorded either.
        """
        recorded = self._recorded(first)
        if recorded is None and self._limits.record and not self._phase(RECORD):
            recorded = self._trial(
                RECORD, "to record the causes on the machine as it is", {}, record=True
            )
        if recorded is None or recorded.proposed:
            return []
        return [cause for number, cause in self._study.causes() if number == recorded.trial_id]

    def _recorded(self, first: TrialRow) -> TrialRow | None:
        return next((row for row in (first, *self._phase(RECORD)) if row.recording), None)

    def _predict(self, first: TrialRow) -> None:
        """Write what knobs may bring, predicted from the recording of the machine as it is.

        Not after the search has begun: a resumed one must start as it did.
        """
        recorded = self._recorded(first)
        if recorded is None or recorded.proposed or self._phase(SEARCH):
            return
        path = Path(recorded.recording or "")
        if path.exists():  # a resumed study may have lost it
            found = predictions_of(path, self._study.knobs(), self._tools.judge.slos)
            self._study.decide("predictions", [one._asdict() for one in found])

    def _typical_s(self) -> float:
        """Return the median wall time of a trial in seconds."""
        times = sorted(row.wall_s for row in self._rows)
        return times[len(times) // 2]

    def _search(self, causes: Sequence[Cause]) -> Search:
        gains = gains_of(self._study.predictions(), self._study.bounds_ns())
        search = self._tools.search(self._study.knobs(), causes, gains)
        done = 0
        for row in self._rows:
            if row.phase == SEARCH:
                # Replayed, so that the search has the state of the interrupted one.
                search.ask()
                done += 1
            if row.phase in (BASELINE, SEARCH):
                search.tell(self._complete(row.proposed), row.observation)
        while done < self._limits.n_trials:
            if not self._budget.has(self._typical_s() * (2 + 2 * self._limits.confirm_runs)):
                self._tools.listener.note("the budget only leaves time to confirm the best")
                break
            if done and done % self._limits.baseline_every == 0 and self._baseline_is_due(done):
                row = self._trial(BASELINE, "again, to detect drift of the machine", {})
                search.tell(self._complete(row.proposed), row.observation)
            settings = search.ask()
            row = self._trial(SEARCH, search.why, self._to_set(settings))
            search.tell(settings, row.observation)
            done += 1
        return search

    def _complete(self, proposed: Settings) -> dict[str, Value]:
        """Return the settings as a search sees them, with the values of knobs that were not set."""
        values: dict[str, Value] = {**self._study.initial(), **proposed}
        return {k.name: values[k.name] for k in self._study.knobs() if k.name in values}

    def _to_set(self, settings: Settings) -> dict[str, Value]:
        return to_set(settings, self._study.knobs())

    def _baseline_is_due(self, done: int) -> bool:
        return len(self._phase(BASELINE)) <= done // self._limits.baseline_every

    def _confirm(self, search: Search) -> list[TrialRow]:
        """Run the best candidates again; return the runs of the confirmed winner, if any."""
        tried = [(row.proposed, row.observation) for row in self._phase(SEARCH)]
        between_runs = self._between_runs()
        by_margin = confirm.by_margin(tried, between_runs)

        def chance(settings: Settings) -> float:
            by_model = search.chance(self._complete(settings))
            return by_margin(settings) if by_model is None else by_model

        met: list[list[TrialRow]] = []
        summaries = []
        for candidate in confirm.in_turn(confirm.candidates(tried, chance), met):
            runs = self._fresh_runs(candidate.settings)
            if not runs:
                break
            verdict = confirm.verdict([row.observation for row in runs], between_runs)
            summaries.append({**summary(runs), "verdict": str(verdict)})
            if verdict.confirmed and len(runs) >= self._limits.confirm_runs:
                met.append(runs)
        met.sort(key=mean_objective, reverse=True)
        self._study.decide("candidates", summaries)
        tried_rows = [row for row in self._phase(SEARCH) if not row.failed]
        self._decide(verdict_of(met, tried_rows))
        return met[0] if met else []

    def _fresh_runs(self, settings: Settings) -> list[TrialRow]:
        runs = [row for row in self._phase(CONFIRM) if row.proposed == settings]
        while len(runs) < self._limits.confirm_runs and self._budget.has(self._typical_s()):
            if runs and not runs[-1].observation.feasible:
                break  # after one miss more runs cannot confirm it
            runs.append(self._trial(CONFIRM, "a fresh run of a candidate", settings))
        return runs

    def _decide(self, found: dict[str, Any]) -> None:
        self._study.decide("verdict", unless_as_it_is(found, self._study.initial()))

    def _record_what_remains(self) -> None:
        proposed = self._study.verdict()["verdict"].get("asked")
        recorded = [row.proposed for row in self._rows if row.recording or row.phase == RECORD]
        if self._limits.record and proposed is not None and proposed not in recorded:
            self._trial(
                RECORD, "to record the remaining causes under these settings", proposed, record=True
            )

    def _ablate(self, winner: Sequence[TrialRow]) -> list[ablation.Contribution]:
        """Run the winner without each of its knobs; return what each contributes."""
        done = {json.dumps(row.proposed, sort_keys=True): row for row in self._phase(ABLATION)}
        steps: dict[str, tuple[ablation.Step, Observation]] = {}
        for step in ablation.plan(self._study.knobs(), winner[0].proposed):
            settings = self._to_set(step.settings)
            row = done.get(json.dumps(settings, sort_keys=True))
            if row is None:
                if not self._budget.has(self._typical_s()):
                    self._tools.listener.note(
                        "the budget leaves no time for the rest of the ablation"
                    )
                    break
                row = self._trial(ABLATION, f"without {step.knob}", settings)
            steps[step.knob] = (step, row.observation)
        typical = sorted(winner, key=lambda row: worst(row.observation))[len(winner) // 2]
        parts = ablation.contributions(typical.observation, steps)
        self._study.decide("ablation", [asdict(part) for part in parts])
        baseline = baselines(self._rows)[0].observation
        self._study.decide("together", ablation.together(baseline, typical.observation, parts))
        return parts

    def _without_idle(
        self, winner: list[TrialRow], parts: Sequence[ablation.Contribution]
    ) -> list[TrialRow]:
        """Remove knobs that contribute nothing from the winner, if fresh runs confirm the rest."""
        idle, tried, initial = lean.idle(parts), {0: winner}, self._study.initial()

        def holds(count: int) -> bool:
            out = idle[:count]
            settings = self._to_set(ablation.without(self._study.knobs(), winner[0].proposed, out))
            # Removed, not at their default: the value that a profile sets is confirmed too.
            settings = {name: value for name, value in settings.items() if name not in out}
            tried[count] = runs = self._fresh_runs(settings)
            if len(runs) < self._limits.confirm_runs:
                return False
            between_runs = self._between_runs(of_default=bool(changed(settings, initial)))
            verdict = confirm.verdict([row.observation for row in runs], between_runs)
            as_good = lean.costs_nothing(mean_objective(winner), mean_objective(runs))
            return verdict.confirmed and as_good

        if count := lean.most(len(idle), holds):
            found = self._study.verdict()["verdict"]
            found |= {**summary(tried[count]), "left_out": idle[:count]}
            self._decide(found)
        return tried[count]

    def _between_runs(self, *, of_default: bool = True) -> float:
        """Return how much runs of the same settings differ; see confirm.spread().

        Not *of_default*: without those of the machine as it is, which show how it has changed
        since the first baseline. That is no reason to doubt what it does now.
        """
        initial, rows = self._study.initial(), comparable(self._rows)
        chosen = [row for row in rows if of_default or changed(row.proposed, initial)]
        return confirm.spread([(row.proposed, row.observation) for row in chosen])

    def _run_again(self, settings: Settings) -> None:
        """Run the winner more times, and count the runs that meet the SLOs."""
        while len(rows := self._again(settings)) < self._limits.n_again:
            if not self._budget.has(self._typical_s()):
                self._tools.listener.note("the budget leaves no time for more runs of the winner")
                break
            self._trial(AGAIN, "the winner, run later", settings)
        held = sum(row.observation.feasible for row in rows)
        self._study.decide("again", {"runs": len(rows), "held": held})

    def _again(self, settings: Settings) -> list[TrialRow]:
        return [row for row in self._phase(AGAIN) if row.proposed == settings]

    def _drift_text(self) -> str:
        # In the lab each trial boots its own guest, and nothing drifts.
        drifts = self._study.facts().get("clock") != "virtual"
        return drift.text_of(self._rows, self._study.initial(), drifts=drifts)
