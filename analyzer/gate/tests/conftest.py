"""Runs as files, and the gate's commands on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.gate.side import Run
from rcp.analyzer.latencies.latency import Latencies

MakeRuns = Callable[..., list[Path]]
Gate = Callable[..., Result]
GateError = Callable[..., str]

REQUESTS = 12_000


@pytest.fixture
def make_runs(tmp_path: Path) -> MakeRuns:
    """Write runs of log-normal latencies around 1 ms, 3 % between them, *factor* times as long."""

    def make(name: str, n: int = 6, factor: float = 1.0, requests: int = REQUESTS) -> list[Path]:
        paths = []
        # Differently seeded by name, or both sides were the same to the nanosecond.
        generator = np.random.default_rng([ord(letter) for letter in name])
        for number in range(n):
            effect = np.exp(generator.normal(0, 0.03))
            values = generator.lognormal(0, 0.5, requests) * effect * factor
            path = tmp_path / f"{name}{number}.txt"
            path.write_text("".join(f"{value:.6f}ms\n" for value in values))
            paths.append(path)
        return paths

    return make


@pytest.fixture
def gate() -> Gate:
    """Run ``rcp-trace gate``."""

    def of(*words: object) -> Result:
        return CliRunner().invoke(main, ["gate", *map(str, words)])

    return of


@pytest.fixture
def gate_error(gate: Gate) -> GateError:
    """The one line of an error; also checks its form."""

    def of(*words: object) -> str:
        result = gate(*words)
        assert result.exit_code == 2, result.output
        assert result.stdout == ""
        assert result.stderr.startswith("rcp-trace: error: ")
        assert result.stderr.count("\n") == 1
        return result.stderr.removeprefix("rcp-trace: error: ").rstrip("\n")

    return of


def runs_of(values: Sequence[Sequence[int] | range], kind: str = "read", **host: str) -> list[Run]:
    """Return runs of single latencies in ns."""
    return [
        Run(f"run{number}", Latencies(f"run{number}", {kind: np.array(one, np.int64)}), host)
        for number, one in enumerate(values)
    ]
