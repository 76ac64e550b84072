"""A short run of the benchmark; `make gate-bench` makes the page."""

import numpy as np
import pytest

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.bench import simulation
from rcp.analyzer.gate.bench.page import page
from rcp.analyzer.gate.bench.rates import peers
from rcp.analyzer.gate.bench.results import METHODS, Results, growth_key
from rcp.analyzer.gate.bench.scenarios import FAMILY, SINGLE, SLOWER, UNCHANGED, Scenario
from rcp.analyzer.gate.bench.simulated import (
    Machine,
    Noise,
    Service,
    Slowdown,
    bank,
    figures,
    latencies,
)
from rcp.analyzer.gate.bench.simulation import gate_run
from rcp.analyzer.latencies.quantiles import quantile_ns, tail_mean_ns

SMALL = Scenario("small", Service(requests=12_000), Noise(0.02))


def test_the_page_has_every_table() -> None:
    made = [
        one
        for change in (("unchanged", UNCHANGED), ("+20 %", SLOWER))
        for limits_text in (FAMILY, *SINGLE)
        for one in simulation.verdicts(SMALL, change, limits_text, 1, bank_runs=20)
    ]
    apart = simulation.verdicts(
        SMALL, ("unchanged", UNCHANGED), FAMILY, 1, simulation.one_side_first, 20
    )
    stalls = simulation.verdicts(SMALL, ("stalls × 2", UNCHANGED), "tail95=5%", 1, gate_run, 20)
    growths = {growth_key("small", "stalls × 2", "tail95=5%"): 0.222}
    text = page(Results(made, made[:8], apart, apart, growths, peers(1), [], [], stalls))
    for heading in (
        "Unchanged programs",
        "Programs that are 20 % slower",
        "Programs whose stalls alone are longer",
        "Cases of a first user",
    ):
        assert f"## {heading}\n" in text
    assert "| small | tail95=5% | +22.2 % | 0.0 % (" in text
    assert text.count("| small |") >= 8
    assert "| Mann-Whitney on all latencies | " in text
    assert all(f"* {method}: " in text for method in METHODS)


def test_unchanged_programs_pass_and_slower_ones_fail_in_every_way() -> None:
    for change, share in ((UNCHANGED, 0.0), (SLOWER, 1.0)):
        found = simulation.verdicts(SMALL, ("", change), "p99=5%", 5, bank_runs=60)
        assert [one.method for one in found] == list(METHODS)
        assert [one.worse.share for one in found] == [share] * len(METHODS)


def test_a_stall_that_is_subtracted_leaves_no_trace() -> None:
    plain = Service(requests=2000)
    stalls = Service(requests=2000, stalls=5, stall_requests=50, subtracted=1)
    a, b = (latencies(np.random.default_rng(3), one, 1) for one in (plain, stalls))
    assert (a == b).all()


def test_a_bank_keeps_the_tails_of_its_runs() -> None:
    service = Service(requests=2000, pareto=True, stalls=5)
    made = latencies(np.random.default_rng(5), service, 3)
    for name in ("p50", "p95", "p99", "p999", "tail95", "tail99", "tail999"):
        (limit,) = limits.parse(f"{name}=5%")
        found = figures(bank(service, 3, 5), service.requests, limit)
        of = quantile_ns if name.startswith("p") else tail_mean_ns
        expected = [of(np.rint(row).astype(np.int64), limit.share) for row in made]
        assert found == pytest.approx(expected, abs=2)


def test_longer_stalls_are_the_candidates_alone() -> None:
    stalling = Scenario("stalling", Service(requests=5000, stalls=10), Noise(0.02))
    change = Slowdown(stalls=2)
    for name in ("p50=5%", "tail95=5%"):
        assert simulation.growth(stalling, UNCHANGED, name) == 0
    assert simulation.growth(stalling, change, "p50=5%") < 0.001
    assert 0.1 < simulation.growth(stalling, change, "tail95=5%") < 0.5
    assert (simulation.candidate(stalling, UNCHANGED, 9) == simulation.quantiles(stalling, 9)).all()


def test_drift_reaches_both_sides_alike_in_turn_and_the_candidate_if_it_is_last() -> None:
    machine = Machine(
        np.random.default_rng(4),
        SMALL.service,
        np.array([[1e6, 2e6, 3e6, 6e6, 2e6, 4e6, 7e6]]),
        Noise(between=0.0, drift=0.01),
        UNCHANGED,
    )

    def apart(sides: tuple[list[object], list[object]]) -> float:
        a, b = (
            np.mean([np.log(run.latencies.histograms["request"].at(1)) for run in side])  # type: ignore[attr-defined]
            for side in sides
        )
        return abs(float(b - a))

    assert apart(machine.in_turn(1, 8)) < 0.02  # type: ignore[arg-type]
    machine.log_now = 0.0
    assert apart(machine.one_side_first(8)) > 0.04  # type: ignore[arg-type]
