"""One tuning from start to end: baseline, search, confirmation, ablation, verdict.

Every step is in the study before the next begins, and what was done before is read from there: a
study that is gone on with takes the step that would have come next.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.pareto import worst
from rcp.tuner.studies.causes import causes_of
from rcp.tuner.studies.comparable import baselines, comparable
from rcp.tuner.studies.study import Cause, Row, Study
from rcp.tuner.trials.judge import Judge
from rcp.tuner.trials.machine import Machine
from rcp.tuner.trials.measurement import to_set
from rcp.tuner.tuning import ablation, confirm, drift, lean
from rcp.tuner.tuning.hopeless import giver_up
from rcp.tuner.tuning.limits import Budget, Limits

BASELINE, SEARCH, CONFIRM = "baseline", "search", "confirm"
RECORD, ABLATION, AGAIN = "record", "ablation", "again"


class Listener(Protocol):
    """Is told how far a tuning is."""

    def begun(self, phase: str, why: str, settings: Settings) -> None:
        """A trial begins."""

    def ended(self, row: Row, left_s: float | None) -> None:
        """A trial has ended; so many seconds of the budget are left."""

    def note(self, text: str) -> None:
        """Something else happened."""


@dataclass(frozen=True)
class Tools:
    """What a tuning works with; *search* makes one for the causes of the baseline."""

    machine: Machine
    judge: Judge
    search: Callable[[Sequence[Knob], Sequence[Cause]], Search]
    listener: Listener


class Tuning:
    """A tuning in progress."""

    def __init__(self, study: Study, tools: Tools, limits: Limits) -> None:
        """Take up *study* where it stands."""
        self._study, self._tools, self._limits = study, tools, limits
        self._budget = Budget(limits.budget_s)
        self._rows = study.trials()

    def run(self) -> None:
        """Do all there is left to do; the result is in the study."""
        if not self._phase(BASELINE):
            self._trial(BASELINE, "as the machine is", {})
        first = self._phase(BASELINE)[0]
        if first.failed:
            raise TuneError(f"the workload gives no figures as the machine is: {first.failed}")
        if first.observation.feasible:
            self._study.decide("verdict", {"outcome": "met already", "trial_id": first.trial_id})
            return
        search = self._search(self._causes(first))
        if not baselines(self._rows):
            self._trial(BASELINE, "again, recorded or not as what is compared with it", {})
        winner = self._confirm(search)
        if winner and self._limits.ablation:
            winner = self._without_idle(winner, self._ablate(winner))
        self._record_what_remains()
        if winner:
            self._run_again(winner[0].asked)
        self._study.decide("drift", self._told_drift())

    def _phase(self, phase: str) -> list[Row]:
        return [row for row in self._rows if row.phase == phase]

    def _trial(self, phase: str, why: str, settings: Settings, *, record: bool = False) -> Row:
        """Make one trial and keep it; its number is its seed, so that none repeats another."""
        seed = len(self._rows) + 1
        self._tools.listener.begun(phase, why, settings)
        recorded = record and self._limits.record
        give_up = giver_up(self._tools.judge.slos) if phase == SEARCH else None
        with self._study.let_read(self._tools.listener.note):
            raw = self._tools.machine.trial(settings, seed, record=recorded, give_up=give_up)
            measurement = self._tools.judge.judge(raw)
            causes = causes_of(raw.recording) if raw.recording else []
        self._study.add(phase, why, seed, measurement, causes)
        self._rows = self._study.trials()
        self._tools.listener.ended(self._rows[-1], self._budget.left_s)
        return self._rows[-1]

    def _causes(self, first: Row) -> list[Cause]:
        """Return what holds requests up as the machine is.

        Recorded in a trial of its own where *first*, the baseline, has no recording: recording
        takes time itself, and what is compared with the baseline is not recorded either.
        """
        recorded = next((r for r in (first, *self._phase(RECORD)) if r.recording), None)
        if recorded is None and self._limits.record and not self._phase(RECORD):
            recorded = self._trial(
                RECORD, "what holds requests up as the machine is", {}, record=True
            )
        if recorded is None or recorded.asked:
            return []
        return [cause for number, cause in self._study.causes() if number == recorded.trial_id]

    def _typical_s(self) -> float:
        """Seconds of wall time a trial takes."""
        times = sorted(row.wall_s for row in self._rows)
        return times[len(times) // 2]

    def _search(self, causes: Sequence[Cause]) -> Search:
        search = self._tools.search(self._study.knobs(), causes)
        done = 0
        for row in self._rows:
            if row.phase == SEARCH:
                # Asked again, so that the search is where it was when it was interrupted.
                search.ask()
                done += 1
            if row.phase in (BASELINE, SEARCH):
                search.tell(self._complete(row.asked), row.observation)
        while done < self._limits.n_trials:
            if not self._budget.has(self._typical_s() * (2 + 2 * self._limits.confirm_runs)):
                self._tools.listener.note("the budget leaves no time but to confirm the best")
                break
            if done and done % self._limits.baseline_every == 0 and self._baseline_is_due(done):
                row = self._trial(BASELINE, "again, to see whether the machine has changed", {})
                search.tell(self._complete(row.asked), row.observation)
            settings = search.ask()
            why = getattr(search, "why", "proposed by the model")
            row = self._trial(SEARCH, why, self._to_set(settings))
            search.tell(settings, row.observation)
            done += 1
        return search

    def _complete(self, asked: Settings) -> dict[str, Value]:
        """Return the settings as a search sees them: what was not set kept its value."""
        values: dict[str, Value] = {**self._study.initial(), **asked}
        return {k.name: values[k.name] for k in self._study.knobs() if k.name in values}

    def _to_set(self, settings: Settings) -> dict[str, Value]:
        return to_set(settings, self._study.knobs())

    def _baseline_is_due(self, done: int) -> bool:
        return len(self._phase(BASELINE)) <= done // self._limits.baseline_every

    def _confirm(self, search: Search) -> list[Row]:
        """Run the best candidates afresh; return the runs of the confirmed winner, if any."""
        tried = [(row.asked, row.observation) for row in self._phase(SEARCH)]
        between_runs = self._between_runs()
        by_model = getattr(search, "chance", None)
        by_margin = confirm.by_margin(tried, between_runs)

        def chance(settings: Settings) -> float:
            return by_model(self._complete(settings)) if by_model else by_margin(settings)

        met: list[list[Row]] = []
        told = []
        for candidate in confirm.in_turn(confirm.candidates(tried, chance), met):
            runs = self._fresh_runs(candidate.settings)
            if not runs:
                break
            verdict = confirm.verdict([row.observation for row in runs], between_runs)
            told.append({**_told(runs), "verdict": str(verdict)})
            if verdict.confirmed and len(runs) >= self._limits.confirm_runs:
                met.append(runs)
        met.sort(key=_mean_objective, reverse=True)
        self._study.decide("candidates", told)
        self._decide(met)
        return met[0] if met else []

    def _fresh_runs(self, settings: Settings) -> list[Row]:
        runs = [row for row in self._phase(CONFIRM) if row.asked == settings]
        while len(runs) < self._limits.confirm_runs and self._budget.has(self._typical_s()):
            if runs and not runs[-1].observation.feasible:
                break  # one miss is enough: the rest could not confirm it
            runs.append(self._trial(CONFIRM, "a fresh run of a candidate", settings))
        return runs

    def _decide(self, met: Sequence[Sequence[Row]]) -> None:
        tried = [row for row in self._phase(SEARCH) if not row.failed]
        if met:
            why = next(row.why for row in tried if row.asked == met[0][0].asked)
            found: dict[str, Any] = {"outcome": "met", **_told(met[0]), "why": why}
        else:
            feasible = any(row.observation.feasible for row in tried)
            found = {"outcome": "not confirmed" if feasible else "not reached"}
            if tried:
                closest = min(tried, key=lambda row: worst(row.observation))
                found |= {**_told([closest]), "why": closest.why}
        self._study.decide("verdict", found)

    def _record_what_remains(self) -> None:
        asked = self._study.verdict()["verdict"].get("asked")
        recorded = [row.asked for row in self._rows if row.recording or row.phase == RECORD]
        if self._limits.record and asked is not None and asked not in recorded:
            self._trial(RECORD, "what remains under these settings", asked, record=True)

    def _ablate(self, winner: Sequence[Row]) -> list[ablation.Bought]:
        """Put one knob back at a time; what each bought is the difference."""
        done = {json.dumps(row.asked, sort_keys=True): row for row in self._phase(ABLATION)}
        steps: dict[str, tuple[ablation.Step, Observation]] = {}
        for step in ablation.plan(self._study.knobs(), winner[0].asked):
            settings = self._to_set(step.settings)
            row = done.get(json.dumps(settings, sort_keys=True))
            if row is None:
                if not self._budget.has(self._typical_s()):
                    self._tools.listener.note("the budget leaves no time for the rest of it")
                    break
                row = self._trial(ABLATION, f"without {step.knob}", settings)
            steps[step.knob] = (step, row.observation)
        typical = sorted(winner, key=lambda row: worst(row.observation))[len(winner) // 2]
        bought = ablation.bought(typical.observation, steps)
        self._study.decide("ablation", [asdict(part) for part in bought])
        baseline = baselines(self._rows)[0].observation
        together = ablation.together(baseline, typical.observation, bought)
        self._study.decide("together", together)
        return bought

    def _without_idle(self, winner: list[Row], parts: Sequence[ablation.Bought]) -> list[Row]:
        """Leave out of the winner what bought nothing, if fresh runs confirm what is left."""
        idle, tried = lean.idle(parts), {0: winner}

        def holds(count: int) -> bool:
            out = idle[:count]
            settings = self._to_set(ablation.without(self._study.knobs(), winner[0].asked, out))
            # Not even at their default: a profile may bring another value, which is confirmed too.
            settings = {name: value for name, value in settings.items() if name not in out}
            tried[count] = runs = self._fresh_runs(settings)
            if len(runs) < self._limits.confirm_runs:
                return False
            verdict = confirm.verdict([row.observation for row in runs], self._between_runs())
            kept = lean.costs_nothing(_mean_objective(winner), _mean_objective(runs))
            return verdict.confirmed and kept

        if count := lean.most(len(idle), holds):
            found = self._study.verdict()["verdict"]
            found |= {**_told(tried[count]), "left_out": idle[:count]}
            self._study.decide("verdict", found)
        return tried[count]

    def _between_runs(self) -> float:
        """By how much runs of the same settings differ; see confirm.spread()."""
        return confirm.spread([(row.asked, row.observation) for row in comparable(self._rows)])

    def _run_again(self, settings: Settings) -> None:
        """Run the winner some more, and count how often it holds."""
        while len(rows := self._again(settings)) < self._limits.n_again:
            if not self._budget.has(self._typical_s()):
                self._tools.listener.note("the budget leaves no time for more later runs")
                break
            self._trial(AGAIN, "the winner, run later", settings)
        held = sum(row.observation.feasible for row in rows)
        self._study.decide("again", {"runs": len(rows), "held": held})

    def _again(self, settings: Settings) -> list[Row]:
        return [row for row in self._phase(AGAIN) if row.asked == settings]

    def _told_drift(self) -> str:
        figures = [worst(row.observation) for row in baselines(self._rows) if not row.failed]
        found = drift.drift(figures)
        return str(found) if found is not None else ""


def _mean_objective(runs: Sequence[Row]) -> float:
    return sum(row.objective or 0.0 for row in runs) / len(runs)


def _told(runs: Sequence[Row]) -> dict[str, Any]:
    return {
        "asked": runs[0].asked,
        "settings": runs[0].settings,
        "runs": [row.trial_id for row in runs],
        "objective": _mean_objective(runs),
    }
