"""Error rates of the gate, and its speed: docs/results/gate.md, by `make gate-bench`.

python -m rcp.analyzer.gate.bench.rates [--comparisons N] [--peer-comparisons N] [--json]
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

import click
import numpy as np

from rcp.analyzer.gate.bench import series
from rcp.analyzer.gate.bench.page import page
from rcp.analyzer.gate.bench.peers import PEERS, Values
from rcp.analyzer.gate.bench.results import PeerRate, Rate, Results, Verdicts, growth_key
from rcp.analyzer.gate.bench.scenarios import (
    FAMILY,
    LONGER_STALLS,
    OF_STALLS,
    UNCHANGED,
    Scenario,
    first_user,
    noise_levels,
    stalling,
)
from rcp.analyzer.gate.bench.simulated import Service, latencies
from rcp.analyzer.gate.bench.simulation import (
    FIRST,
    SEED,
    growth,
    of_first_user,
    of_longer_stalls,
    of_more_runs,
    of_noise_level,
    one_side_first,
    verdicts,
)
from rcp.analyzer.gate.bench.timing import timings
from rcp.probes.contract.printing.json_text import as_json

PEER_SERVICE = Service(requests=20_000, stalls=15, stall_requests=4)
PEER_BETWEEN = 0.05


def peers(comparisons: int) -> list[PeerRate]:
    """Return how often each peer calls a candidate worse."""
    found = []
    for change, factor in (("unchanged", 1.0), ("+10 %", 1.1), ("+20 %", 1.2)):
        generator = np.random.default_rng(SEED + 1)

        def side(factor: float, draw: np.random.Generator = generator) -> Values:
            effects = np.exp(draw.normal(0, PEER_BETWEEN, (FIRST, 1)))
            return np.asarray(latencies(draw, PEER_SERVICE, FIRST) * effects * factor)

        alarms = dict.fromkeys(PEERS, 0)
        for _ in range(comparisons):
            a, b = side(1.0), side(factor)
            for method, says_worse in PEERS.items():
                alarms[method] += says_worse(a, b)
        found += [PeerRate(name, change, Rate(n, comparisons)) for name, n in alarms.items()]
    return found


def _apart(scenario: Scenario, comparisons: int) -> list[Verdicts]:
    change = ("unchanged", UNCHANGED)
    return verdicts(scenario, change, FAMILY, comparisons, one_side_first)


def _growths(cases: Sequence[Scenario]) -> dict[str, float]:
    """Return what each change makes of each limited figure."""
    asked = [(one, change, one.limits) for one in cases for change in one.changes.items()]
    asked += [
        (one, change, limits_text)
        for one in stalling()
        for change in LONGER_STALLS.items()
        for limits_text in OF_STALLS
    ]
    return {
        growth_key(one.name, name, limits_text): growth(one, change, limits_text)
        for one, (name, change), limits_text in asked
    }


def measure(comparisons: int, peer_comparisons: int, otava: Path | None) -> Results:
    """Simulate and time everything; two processes at once."""
    levels, cases = noise_levels(), first_user()
    # Matrices are small: more threads of the library for algebra would only wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, mp_context=context) as pool:

        def each(
            what: Callable[[Scenario, int], list[Verdicts]], of: Sequence[Scenario], n: int
        ) -> list[Verdicts]:
            found: list[Verdicts] = []
            for number, made in enumerate(pool.map(what, of, [max(n, 1)] * len(of)), 1):
                found += made
                click.echo(f"rcp: {made[-1].scenario} ({number} of {len(of)})", err=True)
            return found

        return Results(
            verdicts=each(of_noise_level, levels, comparisons),
            first_user=each(of_first_user, cases, comparisons),
            more_runs=each(of_more_runs, levels[2::4], comparisons // 5),
            apart=each(_apart, [one for one in levels if one.noise.drift], comparisons // 2),
            longer_stalls=each(of_longer_stalls, stalling(), comparisons // 5),
            true_growth=_growths(cases),
            peers=peers(peer_comparisons),
            timings=timings(),
            series=series.measure(peer_comparisons, SEED, otava),
        )


@click.command()
@click.option(
    "--comparisons",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Comparisons of unchanged runs at each level of noise; of changed ones, a fifth.",
)
@click.option(
    "--peer-comparisons",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Comparisons by each peer.",
)
@click.option(
    "--otava", type=click.Path(path_type=Path, exists=True), help="Path of apache-otava's program."
)
@click.option("--json", "as_json_text", is_flag=True, help="Print JSON.")
def main(comparisons: int, peer_comparisons: int, otava: Path | None, as_json_text: bool) -> None:
    """Measure the error rates of the gate and its peers on simulated runs, and the gate's speed."""
    found = measure(comparisons, peer_comparisons, otava)
    if as_json_text:
        click.echo(as_json(asdict(found)), nl=False)
    else:
        click.echo(page(found), nl=False)


if __name__ == "__main__":
    main()
