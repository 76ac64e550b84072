"""Judge simulated runs in the ways in which the gate is used, many times."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.bench.results import MANY, Verdicts
from rcp.analyzer.gate.bench.scenarios import FAMILY, SINGLE, SLOWER, UNCHANGED, Scenario
from rcp.analyzer.gate.bench.simulated import Machine, Slowdown, Values, bank
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Judgement, Verdict
from rcp.analyzer.gate.sequential import judged
from rcp.analyzer.gate.side import Run

SEED = 20261122
FIRST, MOST = 8, 16
BANK_RUNS = 2500
"""Runs in a bank; with as many, the share of comparisons that two of them share is small."""

Sides = tuple[list[Run], list[Run]]


def quantiles(scenario: Scenario, runs: int = BANK_RUNS) -> Values:
    """Return the bank of a scenario's service."""
    return bank(scenario.service, runs, SEED)


def _machine(scenario: Scenario, change: Slowdown, name: str, runs: int) -> Machine:
    seed = [SEED, zlib.crc32(f"{scenario.name} {name}".encode())]
    generator = np.random.default_rng(seed)
    return Machine(generator, scenario.service, quantiles(scenario, runs), scenario.noise, change)


def _again(machine: Machine) -> Machine:
    return Machine(
        machine.generator, machine.service, machine.quantiles, machine.noise, machine.change
    )


def _silent(_: str) -> None:
    pass


Ways = Callable[[Machine, Rules], Iterator[tuple[str, Judgement, int]]]


def every_way(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield each method of METHODS, its judgement, and the runs a side that it took."""
    a, b = _again(machine).in_turn(1, MOST)
    yield "8 files", judge(a[:FIRST], b[:FIRST], rules), FIRST
    yield "16 files", judge(a, b, rules), MOST
    yield "16 in turn", judge(a, b, rules, in_turn=True), MOST
    found, made, _ = judged(_again(machine).in_turn, FIRST, MOST, rules, _silent)
    yield "gate run", found, len(made)


def many_runs(machine: Machine, rules: Rules) -> Iterator[tuple[str, Judgement, int]]:
    """Yield the judgement of ``gate run --max-runs 64``, and the runs a side that it took."""
    found, made, _ = judged(_again(machine).in_turn, FIRST, MANY, rules, _silent)
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
    """Return how often p99.9 is called worse if the gate may make many runs."""
    found: list[Verdicts] = []
    for change in (("unchanged", UNCHANGED), ("+20 %", SLOWER)):
        found += verdicts(scenario, change, SINGLE[-1], comparisons, many_runs)
    return found


def of_first_user(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    """Return the verdicts on a case of first users, unchanged and changed."""
    changes = {"unchanged": UNCHANGED, **scenario.changes}
    found: list[Verdicts] = []
    for change in changes.items():
        n = comparisons if change[1] == UNCHANGED else max(comparisons // 5, 1)
        found += verdicts(scenario, change, scenario.limits, n)
    return found


def growth(scenario: Scenario, change: Slowdown) -> float:
    """Return how much the scenario's limited quantile grows by a change of the slowest 5 %."""
    (limit,) = limits.parse(scenario.limits)
    of_p95, of_limit = (
        quantiles(scenario)[:, column] for column in (1, {0.99: 2, 0.999: 3}[limit.share])
    )
    slower = of_p95 + (of_limit - of_p95) * change.excess
    return float(np.exp(np.log(slower / of_limit).mean())) - 1


def names(found: Sequence[Verdicts]) -> list[str]:
    """Return the scenarios, in order."""
    return list(dict.fromkeys(one.scenario for one in found))
