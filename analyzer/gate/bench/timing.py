"""How long the gate takes to judge two runs of a million latencies."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.bench.results import Timing
from rcp.analyzer.gate.bench.simulated import Values
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.saving import save_runs
from rcp.analyzer.gate.side import Reading, Run, read_side
from rcp.analyzer.latencies.latency import Latencies

_MILLION = 1_000_000


def timings() -> list[Timing]:
    """Return how long the gate takes with files and with data in memory."""
    rules = Rules(limits.parse("p99=5%"))
    generator = np.random.default_rng(20261122)
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
