"""The comparison of searches as Markdown, for docs/results/searches.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rcp.probes.contract.percent import percent
from rcp.tuner.bench.runs import between_runs, n_incomplete
from rcp.tuner.bench.table import Goal, Table
from rcp.tuner.tuning.confirm import FRESH_RUNS

HEAD = """# Searches side by side

Replayed on the table of trials in fixtures/tuning: virtual time on rcpdisk, a simulated disk, one
load. No figure is of hardware, and only the time of a proposal is measured anew. Made by
`make searches`; docs/decisions/searches-on-a-table.md explains the method and its limits.

*Starts* begins with the advised settings for waits at the device and its queue, the others with the
defaults. *Trials until confirmed* is the first trial that met the SLO with settings which three
fresh runs confirm. The winner is the confirmed candidate (the best score, the best objective, if
need be the next best score) with the most throughput; *not the best score* is how often it was
another than the first. The luckiest trial is the one with the most throughput of those that met the
SLO, without confirmation.
"""


@dataclass(frozen=True)
class Replay:
    """One search with one seed; *confirmed_at* is None if nothing was confirmed in the budget."""

    search: str
    seed: int
    confirmed_at: int | None
    chosen: str
    objective: float
    """Mean over all runs of the winner's settings; 0 without a winner."""
    best_seen: float
    """The same for the best confirmable settings among those tried."""
    second_choice: bool
    luckiest_confirmed: bool | None
    """Whether fresh runs confirm the best single trial; None: no trial met the SLO."""


@dataclass(frozen=True)
class Cost:
    """CPU and wall seconds of one ask and tell after *trials* trials."""

    search: str
    trials: int
    cpu_s: float
    wall_s: float


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
    false = sum(one.luckiest_confirmed is False for one in replays)
    return (
        f"| {name} | {middle} | {len(chosen)}/{len(replays)} | {rates} | {seen} | {false} | "
        f"{sum(one.second_choice for one in replays)} |"
    )


def section(goal: Goal, replays: list[Replay], budget: int, table: Table, n_idle: int = 0) -> str:
    """Return the Markdown of one SLO."""
    seeds = len({one.seed for one in replays})
    differ = percent(between_runs(table, goal), 0)
    lines = [
        f"## {goal.slo}" + (f", and {n_idle} knobs that do nothing" if n_idle else ""),
        "",
        f"{seeds} seeds, {budget} trials each, on {len(table)} settings measured. Runs of the same",
        f"settings differ by {differ} in their p99 (one standard deviation",
        f"of its logarithm). {n_incomplete(table)} settings have fewer than {1 + FRESH_RUNS} runs:",
        "their missing runs are resampled with those differences. Medians, quartiles in",
        "brackets; MB/s are the background's.",
        "",
        "| search | trials until confirmed | a winner confirmed | MB/s of the winner | MB/s of the "
        "best tried | luckiest trial not confirmed | not the best score |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    for name in dict.fromkeys(one.search for one in replays):
        lines.append(_line(name, [one for one in replays if one.search == name], budget))
    return "\n".join(lines) + "\n"


def costs_table(costs: Sequence[Cost]) -> str:
    """Return the Markdown of the cost of proposals."""
    lines = ["## One proposal", "", "Beside other work on the same two cores.", ""]
    lines += ["| search | trials so far | CPU s | wall s |", "|---|--:|--:|--:|"]
    lines += [f"| {c.search} | {c.trials} | {c.cpu_s:.2f} | {c.wall_s:.2f} |" for c in costs]
    return "\n".join(lines) + "\n"
