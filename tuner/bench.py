"""Searches side by side, replayed on a table of real trials: `python -m rcp.tuner.bench --json`.

Every search has the same budget of trials. Counted is the first trial whose settings met the SLO
and are confirmed on other runs of the same settings; and, at the end of the budget, what becomes of
the settings that the search would call its winner.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from rcp.tuner.confirm import FRESH_RUNS, Verdict, by_margin, candidates, verdict
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.gp import GpSearch
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.random import RandomSearch
from rcp.tuner.search.start import Start, starts, worth_first
from rcp.tuner.search.table import Goal, Table, load
from rcp.tuner.search.tpe import TpeSearch

# What the reads of the table wait for: the device and its queue, and nothing else is there.
_CAUSES = (("device", 0.7), ("queue", 0.3))
# Knobs that do nothing here, for a search to find that out: as the page cache's, to direct I/O.
_IDLE_RANGE = (1, 1000)


@dataclass(frozen=True)
class _Kind:
    """A search as it is compared: with the advised starts, and with the knobs chosen by causes."""

    make: Callable[..., Any]
    starts: bool = False
    chosen: bool = False


_KINDS = {
    "gp, starts, chosen knobs": _Kind(GpSearch, True, True),
    "gp, starts": _Kind(GpSearch, True),
    "gp": _Kind(GpSearch),
    "tpe, starts": _Kind(TpeSearch, True),
    "tpe": _Kind(TpeSearch),
    "random": _Kind(RandomSearch),
}


@dataclass(frozen=True)
class Replay:
    """What one search did with one seed; *confirmed_at* is None if the budget did not do."""

    search: str
    seed: int
    confirmed_at: int | None
    chosen: str
    objective: float
    """Mean over all runs of the settings called the winner; 0 without one."""
    best_seen: float
    """The same of the best confirmable settings among those tried."""
    second_choice: bool
    believed: bool
    """Whether the best single trial, taken at its word, would have been confirmed."""


class _Runs:
    """The rows of a table as this replay meets them: one for the trial, others afterwards."""

    def __init__(self, table: Table, goal: Goal, seed: int) -> None:
        self._table, self._goal, self._seed = table, goal, seed
        self._deviation = between_runs(table, goal)

    def _order(self, settings: Settings) -> list[Observation]:
        rows = self._table.rows(settings)
        key = str(self._table.space.key(settings)).encode()
        random = np.random.default_rng([self._seed, *key])
        return [self._goal.observed(rows[place]) for place in random.permutation(len(rows))]

    def trial(self, settings: Settings) -> Observation:
        return self._order(settings)[0]

    def verdict(self, settings: Settings) -> Verdict | None:
        """The verdict of fresh runs; None where there are too few of them."""
        fresh = self._order(settings)[1 : 1 + FRESH_RUNS]
        return verdict(fresh, self._deviation) if len(fresh) == FRESH_RUNS else None

    def confirmed(self, settings: Settings) -> bool:
        told = self.verdict(settings)
        return told is not None and told.confirmed

    def mean_objective(self, settings: Settings) -> float:
        return statistics.fmean(told.objective for told in self._order(settings))


def between_runs(table: Table, goal: Goal) -> float:
    """Standard deviation of the log-ratio between runs of the same settings, over the table."""
    groups = []
    for settings in table.settings():
        logs = [np.log(row[goal.figure]) for row in table.rows(settings) if row]
        if len(logs) > 1:
            groups.append(logs)
    total = sum(statistics.variance(group) * (len(group) - 1) for group in groups)
    return float(np.sqrt(total / max(1, sum(len(group) - 1 for group in groups))))


def _idle(count: int) -> tuple[Knob, ...]:
    return tuple(
        Knob(f"idle.{n}", "does nothing", "", "stock", 30, "log", *_IDLE_RANGE)
        for n in range(count)
    )


def _search(name: str, table: Table, goal: Goal, seed: int, idle: Sequence[Knob]) -> Search:
    kind, knobs = _KINDS[name], (*table.space.knobs, *idle)
    begin = starts(table.space.knobs, _CAUSES) if kind.starts else starts(table.space.knobs)[:1]
    begin = [Start(table.nearest(start.settings, set()), start.why) for start in begin]
    moving = worth_first(knobs, _CAUSES, len(table.space.knobs)) if kind.chosen else None
    search: Search = kind.make(knobs, [goal.slo], seed=seed, starts=begin, moving=moving)
    return search


def replay(
    name: str, table: Table, goal: Goal, seed: int, budget: int, idle: Sequence[Knob] = ()
) -> Replay:
    """Let a search have *budget* trials of the table, and confirm what it chose.

    *idle* knobs can be set, and change nothing.
    """
    search = _search(name, table, goal, seed, idle)
    runs = _Runs(table, goal, seed)
    trials: list[tuple[dict[str, Value], Observation]] = []
    confirmed_at = None
    for count in range(1, budget + 1):
        tried = {table.space.key(settings) for settings, _ in trials}
        asked = search.ask()
        settings = table.nearest(asked, tried) | {knob.name: asked[knob.name] for knob in idle}
        observed = runs.trial(settings)
        search.tell(settings, observed)
        trials.append((settings, observed))
        if confirmed_at is None and observed.feasible and runs.confirmed(settings):
            confirmed_at = count
    return _judged(name, seed, confirmed_at, trials, runs, search)


def _judged(
    name: str,
    seed: int,
    confirmed_at: int | None,
    trials: list[tuple[dict[str, Value], Observation]],
    runs: _Runs,
    search: Search,
) -> Replay:
    deviation = runs._deviation
    chance = getattr(search, "chance", None) or by_margin(trials, deviation)
    chosen = candidates(trials, chance)
    winner = next((one for one in chosen if runs.confirmed(one.settings)), None)
    met = [settings for settings, told in trials if told.feasible]
    luckiest = max(
        ((told.objective, place) for place, (_, told) in enumerate(trials) if told.feasible),
        default=None,
    )
    confirmable = [runs.mean_objective(s) for s in met if runs.confirmed(s)]
    return Replay(
        name,
        seed,
        confirmed_at,
        json.dumps(winner.settings) if winner else "",
        runs.mean_objective(winner.settings) if winner else 0.0,
        max(confirmable, default=0.0),
        winner is not None and winner is not chosen[0],
        luckiest is not None and runs.confirmed(trials[luckiest[1]][0]),
    )


@dataclass(frozen=True)
class Cost:
    """Seconds of one ask and tell, after so many trials: of this process, and on the clock."""

    search: str
    trials: int
    cpu_s: float
    wall_s: float


def costs(table: Table, goal: Goal, counts: Iterable[int] = (10, 50, 100)) -> Iterator[Cost]:
    """Measure what a proposal takes; the medians of three."""
    everything = table.settings()
    order = np.random.default_rng(0).permutation(len(everything))
    for name in ("gp", "tpe", "random"):
        for count in counts:
            taken = []
            for seed in range(3):
                search: Search = _KINDS[name].make(table.space.knobs, [goal.slo], seed=seed)
                for place in order[:count]:
                    settings = everything[place]
                    search.tell(settings, goal.observed(table.rows(settings)[0]))
                cpu_s, wall_s = time.process_time(), time.perf_counter()
                settings = search.ask()
                search.tell(settings, goal.observed(table.rows(everything[0])[0]))
                taken.append((time.process_time() - cpu_s, time.perf_counter() - wall_s))
            cpu, wall = (statistics.median(one[part] for one in taken) for part in (0, 1))
            yield Cost(name, count, cpu, wall)


def _quartiles(values: list[float]) -> str:
    low, middle, high = np.quantile(values, (0.25, 0.5, 0.75), method="inverted_cdf")
    return f"{middle:g} ({low:g}–{high:g})"


def _line(name: str, replays: list[Replay], budget: int) -> str:
    never = budget + 1
    at = [float(one.confirmed_at or never) for one in replays]
    middle = _quartiles(at).replace(f"{never}", f">{budget}")
    chosen = [one for one in replays if one.chosen]
    rates = _quartiles([round(one.objective / 1e6, 1) for one in replays])
    seen = _quartiles([round(one.best_seen / 1e6, 1) for one in replays])
    false = sum(not one.believed for one in replays if one.best_seen or not one.believed)
    return (
        f"| {name} | {middle} | {len(chosen)}/{len(replays)} | {rates} | {seen} | {false} | "
        f"{sum(one.second_choice for one in replays)} |"
    )


def section(goal: Goal, replays: list[Replay], budget: int, table: Table) -> str:
    """Return the Markdown of one SLO."""
    seeds = len({one.seed for one in replays})
    lines = [
        f"### {goal.slo}",
        "",
        f"{seeds} seeds, {budget} trials each, on {len(table)} settings measured; runs of the same",
        f"settings differ by {between_runs(table, goal):.0%} in their p99 (one standard deviation",
        "of its logarithm). Medians, quartiles in brackets; MB/s are the background's.",
        "",
        "| search | trials until confirmed | a winner confirmed | MB/s of the winner | MB/s of the "
        "best tried | luckiest trial not confirmed | runner-up needed |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(one.search for one in replays):
        lines.append(_line(name, [one for one in replays if one.search == name], budget))
    return "\n".join(lines) + "\n"


_FOLDER = Path(__file__).resolve().parents[1] / "fixtures" / "tuning"


@click.command()
@click.option("--table", "folder", type=click.Path(path_type=Path, exists=True), default=_FOLDER)
@click.option("--seeds", type=int, default=24, show_default=True)
@click.option("--budget", type=int, default=30, show_default=True, help="Trials of each search.")
@click.option("--bound-ms", type=float, multiple=True, default=(5.0, 10.0), show_default=True)
@click.option("--search", "names", type=click.Choice(list(_KINDS)), multiple=True)
@click.option("--idle", "n_idle", type=int, default=0, help="So many knobs more that do nothing.")
@click.option("--json", "as_json", is_flag=True, help="Every replay, instead of the tables.")
def main(
    folder: Path,
    seeds: int,
    budget: int,
    bound_ms: tuple[float, ...],
    names: tuple[str, ...],
    n_idle: int,
    as_json: bool,
) -> None:
    """Replay the searches on a table of real trials."""
    table = load(folder)
    told: dict[str, Any] = {"replays": {}, "costs": []}
    for bound in bound_ms:
        goal = Goal(f"p99={bound:g}ms", "p99_ns", bound * 1e6, "background_bytes_per_s")
        replays = [
            replay(name, table, goal, seed, budget, _idle(n_idle))
            for name in names or _KINDS
            for seed in range(seeds)
        ]
        told["replays"][goal.slo] = [asdict(one) for one in replays]
        if not as_json:
            click.echo(section(goal, replays, budget, table))
    taken = list(costs(table, goal))
    told["costs"] = [asdict(one) for one in taken]
    if as_json:
        click.echo(json.dumps(told, indent=1))
        return
    click.echo("| search | trials so far | CPU s | wall s |\n|---|--:|--:|--:|")
    for one in taken:
        click.echo(f"| {one.search} | {one.trials} | {one.cpu_s:.2f} | {one.wall_s:.2f} |")


if __name__ == "__main__":
    main()
