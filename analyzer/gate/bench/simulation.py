"""Judge simulated runs in the ways in which the gate is used, many times."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.bench.results import MANY, Verdicts
from rcp.analyzer.gate.bench.scenarios import (
    FAMILY,
    LONGER_STALLS,
    OF_MANY_RUNS,
    OF_STALLS,
    SINGLE,
    SLOWER,
    UNCHANGED,
    Scenario,
)
from rcp.analyzer.gate.bench.simulated import Machine, Slowdown, Values, bank, figures, slowed
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.sequential import judged
from rcp.analyzer.gate.side import Run

SEED = 20261122
FIRST, MOST = 8, 16
BANK_RUNS = 2500
"""Runs in a bank; with as many, the share of comparisons that two of them share is small."""
STALLS_BANK_RUNS = 1000
"""Runs in a bank of longer stalls: each needs its own, and more would only take longer."""

GROWTH_RUNS = 500
"""Runs that a growth is computed from: both sides have the same chance in them."""

Sides = tuple[list[Run], list[Run]]


def quantiles(scenario: Scenario, runs: int = BANK_RUNS) -> Values:
    """Return the bank of a scenario's service."""
    return bank(scenario.service, runs, SEED)


def candidate(scenario: Scenario, change: Slowdown, runs: int = BANK_RUNS) -> Values:
    """Return the bank of the changed service: another one if its stalls are longer."""
    return bank(replace(scenario.service, stall_factor=change.stalls), runs, SEED)


def _machine(scenario: Scenario, change: Slowdown, name: str, runs: int) -> Machine:
    seed = [SEED, zlib.crc32(f"{scenario.name} {name}".encode())]
    generator = np.random.default_rng(seed)
    made, other = quantiles(scenario, runs), candidate(scenario, change, runs)
    return Machine(generator, scenario.service, made, scenario.noise, change, other)


def _again(machine: Machine) -> Machine:
    return replace(machine, log_now=0.0, trend=0.0)


def _silent(_: str) -> None:
    pass


Ways = Callable[[Machine, Rules], Iterator[tuple[str, Judgement, int]]]


def every_way(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield each method of METHODS, its judgement, and the runs a side that it took."""
    a, b = _again(machine).in_turn(1, MOST)
    yield "8 files", judge(a[:FIRST], b[:FIRST], rules), FIRST
    yield "16 files", judge(a, b, rules), MOST
    yield "16 in turn", judge(a, b, rules, in_turn=True), MOST
    yield from gate_run(machine, rules)


def many_runs(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield the judgement of ``gate run --max-runs 64``, and the runs a side that it took."""
    found, made, _ = judged(_again(machine).in_turn, FIRST, MANY, rules, _silent)
    yield "gate run", found, len(made)


def gate_run(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield the judgement of ``gate run``, and the runs a side that it took."""
    found, made, _ = judged(_again(machine).in_turn, FIRST, MOST, rules, _silent)
    yield "gate run", found, len(made)


def one_side_first(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield the judgement on files of a baseline that was measured before the candidate."""
    yield "8 files", judge(*_again(machine).one_side_first(FIRST), rules), FIRST


def verdicts(
    scenario: Scenario,
    change: tuple[str, Slowdown],
    limits_text: str,
    comparisons: int,
    ways: Ways = every_way,
    bank_runs: int = BANK_RUNS,
) -> list[Verdicts]:
    """Return the verdicts on so many comparisons, by method."""
    name, what = change
    machine = _machine(scenario, what, f"{name} {limits_text}", bank_runs)
    rules, found = Rules(limits.parse(limits_text)), dict[str, Verdicts]()
    for _ in range(comparisons):
        for method, judgement, runs in ways(machine, rules):
            counts = found.setdefault(method, Verdicts(scenario.name, name, limits_text, method))
            counts.comparisons += 1
            counts.regressions += judgement.verdict == Verdict.REGRESSION
            counts.unclear += judgement.verdict == Verdict.INCONCLUSIVE
            counts.runs += runs
    return list(found.values())


def of_noise_level(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    """Return the alarms of unchanged programs, and how often +20 % is found in each quantile."""
    found = verdicts(scenario, ("unchanged", UNCHANGED), FAMILY, comparisons)
    for limits_text in SINGLE:
        n = max(comparisons // 5, 1)
        found += verdicts(scenario, ("unchanged", UNCHANGED), limits_text, n)
        found += verdicts(scenario, ("+20 %", SLOWER), limits_text, n)
    return found


def of_more_runs(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    """Return how often a p99.9 or tail is called worse if the gate may make many runs."""
    found: list[Verdicts] = []
    for limits_text in OF_MANY_RUNS:
        for change in (("unchanged", UNCHANGED), ("+20 %", SLOWER)):
            found += verdicts(scenario, change, limits_text, comparisons, many_runs)
    return found


def of_longer_stalls(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    """Return how often `gate run` finds that nothing but the stalls got longer."""
    found: list[Verdicts] = []
    for change in LONGER_STALLS.items():
        for limits_text in OF_STALLS:
            found += verdicts(
                scenario, change, limits_text, comparisons, gate_run, STALLS_BANK_RUNS
            )
    return found


def of_first_user(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    """Return the verdicts on a case of first users, unchanged and changed."""
    changes = {"unchanged": UNCHANGED, **scenario.changes}
    found: list[Verdicts] = []
    for change in changes.items():
        n = comparisons if change[1] == UNCHANGED else max(comparisons // 5, 1)
        found += verdicts(scenario, change, scenario.limits, n)
    return found


def growth(scenario: Scenario, change: Slowdown, limits_text: str) -> float:
    """Return how much a change of the slow requests makes a limited figure grow."""
    (limit,) = limits.parse(limits_text)
    made, n = quantiles(scenario, GROWTH_RUNS), scenario.service.requests
    slower = slowed(candidate(scenario, change, GROWTH_RUNS), change.excess)
    ratio = figures(slower, n, limit) / figures(made, n, limit)
    return float(np.exp(np.log(ratio).mean())) - 1


def names(found: Sequence[Verdicts]) -> list[str]:
    """Return the scenarios, in order."""
    return list(dict.fromkeys(one.scenario for one in found))
