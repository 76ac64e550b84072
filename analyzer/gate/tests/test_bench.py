"""A short run of the benchmark; `make gate-bench` makes the page."""

import numpy as np

from rcp.analyzer.gate.bench import simulation
from rcp.analyzer.gate.bench.page import page
from rcp.analyzer.gate.bench.rates import peers
from rcp.analyzer.gate.bench.results import METHODS, Results
from rcp.analyzer.gate.bench.scenarios import FAMILY, SINGLE, SLOWER, UNCHANGED, Scenario
from rcp.analyzer.gate.bench.simulated import Machine, Noise, Service, latencies

SMALL = Scenario("small", Service(requests=12_000), Noise(0.02))


def test_the_page_has_every_table() -> None:
    made = [
        one
        for change in (("unchanged", UNCHANGED), ("+20 %", SLOWER))
        for limits in (FAMILY, *SINGLE)
        for one in simulation.verdicts(SMALL, change, limits, 1, bank_runs=20)
    ]
    apart = simulation.verdicts(
        SMALL, ("unchanged", UNCHANGED), FAMILY, 1, simulation.one_side_first, 20
    )
    text = page(Results(made, made[:8], apart, apart, {}, peers(1), []))
    for heading in ("Unchanged programs", "Programs that are 20 % slower", "Cases of a first user"):
        assert f"## {heading}\n" in text
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


def test_drift_reaches_both_sides_alike_in_turn_and_the_candidate_if_it_is_last() -> None:
    machine = Machine(
        np.random.default_rng(4),
        SMALL.service,
        np.array([[1e6, 2e6, 3e6, 6e6]]),
        Noise(between=0.0, drift=0.01),
        UNCHANGED,
    )

    def apart(sides: tuple[list[object], list[object]]) -> float:
        a, b = (
            np.mean([np.log(run.latencies.points["request"].by_share[0.5]) for run in side])  # type: ignore[attr-defined]
            for side in sides
        )
        return abs(float(b - a))

    assert apart(machine.in_turn(1, 8)) < 0.02  # type: ignore[arg-type]
    machine.log_now = 0.0
    assert apart(machine.one_side_first(8)) > 0.04  # type: ignore[arg-type]
