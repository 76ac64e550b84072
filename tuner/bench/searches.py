"""Searches side by side, replayed on a table of real trials.

    python -m rcp.tuner.bench.searches --json

Every search has the same budget of trials. The comparison counts the trials until the first one
whose settings met the SLO and are confirmed by other runs of the same settings. At the end of the
budget it confirms the candidates of each search and takes the winner.
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

from rcp.tuner.bench.page import HEAD, Cost, Replay, costs_table, section
from rcp.tuner.bench.runs import Runs
from rcp.tuner.bench.table import Goal, Table, load
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.gp import GpSearch
from rcp.tuner.search.observation import Observation, Search
from rcp.tuner.search.random import RandomSearch
from rcp.tuner.search.start import Start, starts, worth_first
from rcp.tuner.search.tpe import TpeSearch
from rcp.tuner.tuning.confirm import Candidate, by_margin, candidates, in_turn

# The reads of the table wait for the device and its queue only.
_CAUSES = (("device", 0.7), ("queue", 0.3))
# Range of the knobs without effect, such as those of the page cache for direct I/O.
_IDLE_LOW, _IDLE_HIGH = 1, 1000


@dataclass(frozen=True)
class _Kind:
    """A variant of a search: with the advised starts, and with knobs chosen by causes."""

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


def _idle(count: int) -> tuple[Knob, ...]:
    return tuple(
        Knob(
            name=f"idle.{n}",
            what="does nothing",
            unit="",
            backend="stock",
            default=30,
            scale="log",
            low=_IDLE_LOW,
            high=_IDLE_HIGH,
        )
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
    """Run a search for *budget* trials of the table, and confirm its candidates.

    *idle* are additional knobs without effect.
    """
    search = _search(name, table, goal, seed, idle)
    runs = Runs(table, goal, seed)
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
    return _judged(name, seed, confirmed_at, trials=trials, runs=runs, search=search)


def _judged(
    name: str,
    seed: int,
    confirmed_at: int | None,
    *,
    trials: list[tuple[dict[str, Value], Observation]],
    runs: Runs,
    search: Search,
) -> Replay:
    margin_chance = by_margin(trials, runs.deviation)

    def chance(settings: Settings) -> float:
        by_model = search.chance(settings)
        return margin_chance(settings) if by_model is None else by_model

    chosen = candidates(trials, chance)
    confirmed: list[Candidate] = []
    for one in in_turn(chosen, confirmed):
        if runs.confirmed(one.settings):
            confirmed.append(one)
    winner = max(confirmed, key=lambda one: runs.mean_objective(one.settings), default=None)
    feasible = [(settings, one.objective) for settings, one in trials if one.feasible]
    luckiest = max(reversed(feasible), key=lambda pair: pair[1], default=None)
    confirmable = [runs.mean_objective(s) for s, _ in feasible if runs.confirmed(s)]
    return Replay(
        search=name,
        seed=seed,
        confirmed_at=confirmed_at,
        chosen=json.dumps(winner.settings) if winner else "",
        objective=runs.mean_objective(winner.settings) if winner else 0.0,
        best_seen=max(confirmable, default=0.0),
        second_choice=winner is not None and winner is not chosen[0],
        luckiest_confirmed=runs.confirmed(luckiest[0]) if luckiest else None,
    )


def costs(table: Table, goal: Goal, counts: Iterable[int] = (10, 50, 100)) -> Iterator[Cost]:
    """Measure the time of a proposal; medians of three."""
    everything = table.settings()
    order = np.random.default_rng(0).permutation(len(everything))
    for name in ("gp", "tpe", "random"):
        for count in counts:
            taken = []
            for seed in range(3):
                search: Search = _KINDS[name].make(table.space.knobs, [goal.slo], seed=seed)
                for place in np.resize(order, count):
                    settings = everything[place]
                    search.tell(settings, goal.observed(table.rows(settings)[0]))
                cpu_s, wall_s = time.process_time(), time.perf_counter()
                settings = search.ask()
                search.tell(settings, goal.observed(table.rows(everything[0])[0]))
                taken.append((time.process_time() - cpu_s, time.perf_counter() - wall_s))
            cpu, wall = (statistics.median(one[part] for one in taken) for part in (0, 1))
            yield Cost(name, count, cpu, wall)


_FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "tuning"


def _compared(names: Sequence[str], n_idle: int) -> list[str]:
    """Return the searches of a case; without idle knobs those that choose knobs are left out."""
    return list(names) or [name for name, kind in _KINDS.items() if n_idle or not kind.chosen]


@click.command()
@click.option("--table", "folder", type=click.Path(path_type=Path, exists=True), default=_FOLDER)
@click.option("--seeds", type=int, default=24, show_default=True)
@click.option("--budget", type=int, default=25, show_default=True, help="Trials of each search.")
@click.option("--bound-ms", type=float, multiple=True, default=(5.0, 10.0), show_default=True)
@click.option("--search", "names", type=click.Choice(list(_KINDS)), multiple=True)
@click.option(
    "--idle", type=int, default=30, show_default=True, help="Knobs without effect, in a last case."
)
@click.option(
    "--json", "as_json", is_flag=True, help="Print every replay as JSON instead of Markdown."
)
def main(
    folder: Path,
    seeds: int,
    budget: int,
    bound_ms: tuple[float, ...],
    names: tuple[str, ...],
    idle: int,
    as_json: bool,
) -> None:
    """Replay the searches on a table of real trials."""
    table = load(folder)
    cases = [(bound, 0) for bound in bound_ms] + ([(bound_ms[0], idle)] if idle else [])
    output: dict[str, Any] = {"cases": [], "costs": []}
    if not as_json:
        click.echo(HEAD)
    for bound, n_idle in cases:
        goal = Goal(f"p99={bound:g}ms", "p99_ns", bound * 1e6, "background_bytes_per_s")
        replays = [
            replay(name, table, goal, seed, budget, _idle(n_idle))
            for name in _compared(names, n_idle)
            for seed in range(seeds)
        ]
        found = [asdict(one) for one in replays]
        output["cases"].append({"slo": goal.slo, "idle_knobs": n_idle, "replays": found})
        if not as_json:
            click.echo(section(goal, replays, budget, table, n_idle))
    taken = list(costs(table, goal))
    output["costs"] = [asdict(one) for one in taken]
    click.echo(json.dumps(output, indent=1) if as_json else costs_table(taken), nl=as_json)


if __name__ == "__main__":
    main()
