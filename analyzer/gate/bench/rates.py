"""Error rates of the gate, and its speed: docs/results/gate.md, by `make gate-bench`.

python -m rcp.analyzer.gate.bench.rates [--repetitions N] [--peer-repetitions N] [--json]
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.bench import series
from rcp.analyzer.gate.bench.page import page
from rcp.analyzer.gate.bench.peers import PEERS, Values
from rcp.analyzer.gate.bench.results import ONE, THREE, WORKLOADS, Rate, Results, Timing
from rcp.analyzer.gate.bench.simulated import Workload, latencies, side
from rcp.analyzer.gate.confirmation import judge_again, worth_confirming
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Verdict
from rcp.analyzer.gate.saving import save_runs
from rcp.analyzer.gate.side import Reading, Run, read_side
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.text import as_json

RUNS = 8
SEED = 20261122
_MILLION = 1_000_000

FACTORS = (1.0, 1.1, 1.2)


@dataclass
class _Verdicts:
    first: int = 0
    first_unclear: int = 0
    confirmed: int = 0
    unclear: int = 0
    more_runs: int = 0


def gate_rates(
    workload: Workload, name: str, factor: float, limits_text: str, repetitions: int
) -> tuple[list[Rate], float]:
    """Return the gate's alarm rates, and the share of comparisons that made fresh runs.

    The rates are of the first runs and after confirmation. Only the source of the runs differs from
    ``rcp-trace gate run``.
    """
    generator = np.random.default_rng(SEED)
    rules, counts = Rules(limits.parse(limits_text)), _Verdicts()
    for _ in range(repetitions):
        a = side(latencies(generator, workload, RUNS), "A")
        b = side(latencies(generator, workload, RUNS, factor), "B")
        first = judge(a, b, rules)
        counts.first += first.verdict == Verdict.REGRESSION
        counts.first_unclear += first.verdict == Verdict.INCONCLUSIVE
        last = first
        if worth_confirming(first):
            counts.more_runs += 1
            a += side(latencies(generator, workload, RUNS), "A")
            b += side(latencies(generator, workload, RUNS, factor), "B")
            last = judge_again(a, b, rules)
        counts.confirmed += last.verdict == Verdict.REGRESSION
        counts.unclear += last.verdict == Verdict.INCONCLUSIVE
    label = f"rcp gate, {limits_text}"
    rates = [
        Rate(f"{label}, files", name, factor, counts.first, repetitions, counts.first_unclear),
        Rate(f"{label}, confirmed", name, factor, counts.confirmed, repetitions, counts.unclear),
    ]
    return rates, counts.more_runs / repetitions


def _peers(workload: Workload, name: str, factor: float, repetitions: int) -> list[Rate]:
    generator = np.random.default_rng(SEED + 1)
    alarms = dict.fromkeys(PEERS, 0)
    for _ in range(repetitions):
        a: Values = latencies(generator, workload, RUNS)
        b: Values = latencies(generator, workload, RUNS, factor)
        for method, says_worse in PEERS.items():
            alarms[method] += says_worse(a, b)
    return [Rate(method, name, factor, n, repetitions) for method, n in alarms.items()]


def timings() -> list[Timing]:
    """Return how long the gate takes with files and with data in memory."""
    rules = Rules(limits.parse(ONE))
    generator = np.random.default_rng(SEED)
    values = [generator.lognormal(13, 0.5, _MILLION) for _ in "ab"]
    runs = [[Run(name, _in_memory(one), {})] for name, one in zip("ab", values, strict=True)]
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as scratch:
        folder = Path(scratch)
        for name, one in zip("ab", values, strict=True):
            text = "\n".join(f"{ns / 1000:.3f}us" for ns in one.tolist())
            (folder / f"{name}.txt").write_text(text + "\n")
        save_runs(runs[0], folder / "saved", "bench")
        from_text = [str(folder / f"{name}.txt") for name in "ab"]
        saved = [str(folder / "saved"), from_text[1]]

        def of_files(paths: Sequence[str]) -> Callable[[], object]:
            a, b = paths
            how = Reading()
            return lambda: judge(read_side([a], how), read_side([b], how), rules)

        return [
            _timed("two files of lines", of_files(from_text)),
            _timed("a saved baseline and a file of lines", of_files(saved)),
            _timed("in memory", lambda: judge(runs[0], runs[1], rules)),
        ]


def _in_memory(values: Values) -> Latencies:
    return Latencies("bench", {"request": values.astype(np.int64)})


def _timed(what: str, work: Callable[[], object]) -> Timing:
    wall, cpu = [], []
    for _ in range(3):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        work()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return Timing(what, float(np.median(wall)), float(np.median(cpu)))


def _times(name: str, factor: float, repetitions: int) -> int:
    """Return how often to repeat a comparison: most often for the workload of the target rates."""
    if name == "few stalls":
        return repetitions if factor == 1 else -(-repetitions // 2)
    return -(-repetitions // (4 if factor == 1 else 10))


def measure(repetitions: int, peer_repetitions: int, otava: Path | None) -> Results:
    """Simulate and time everything."""
    rates: list[Rate] = []
    more_runs = {}
    for name, workload in WORKLOADS.items():
        for factor in FACTORS:
            if factor == 1 and workload.tail_only:
                continue  # without a change it is the same workload as the first
            for limits_text in (ONE, THREE) if name == "few stalls" else (ONE,):
                n = _times(name, factor, repetitions)
                found, share = gate_rates(workload, name, factor, limits_text, n)
                rates += found
                more_runs[f"{limits_text} {name} {factor:g}"] = share
            rates += _peers(workload, name, factor, peer_repetitions)
            click.echo(f"rcp: {name}, times {factor:g}: done", err=True)
    found_in_series = series.measure(peer_repetitions, SEED, otava)
    return Results(rates, more_runs, timings(), found_in_series)


@click.command()
@click.option(
    "--repetitions",
    type=click.IntRange(1),
    default=1000,
    show_default=True,
    help="Comparisons of unchanged runs by the gate.",
)
@click.option(
    "--peer-repetitions",
    type=click.IntRange(1),
    default=100,
    show_default=True,
    help="Comparisons by each peer.",
)
@click.option(
    "--otava", type=click.Path(path_type=Path, exists=True), help="Path of apache-otava's program."
)
@click.option("--json", "as_json_text", is_flag=True, help="Print JSON.")
def main(repetitions: int, peer_repetitions: int, otava: Path | None, as_json_text: bool) -> None:
    """Measure the error rates of the gate and its peers on simulated runs, and the gate's speed."""
    found = measure(repetitions, peer_repetitions, otava)
    if as_json_text:
        click.echo(as_json(asdict(found)), nl=False)
    else:
        click.echo(page(found), nl=False)


if __name__ == "__main__":
    main()
