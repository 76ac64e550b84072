"""Change points in made-up histories: rcp's own, and apache-otava's where it is installed.

Otava pins old numpy and scipy, so it cannot live beside rcp: it is called as a program of another
environment (``--otava PATH``).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rcp.analyzer.gate.history import Point, drifts

SAVES = 60
STEP_AT = 40
STEP = 1.1
NOISE = 0.05
"""Standard deviation of the logs."""

_NEAR = 3
"""Saves that a change may be told early or late."""

Values = npt.NDArray[np.float64]
Finder = Callable[[Values], list[list[int]]]
"""From series (one a row) to where each changes."""


@dataclass(frozen=True)
class Found:
    """How often a method told a change that was not there, and found the one that was."""

    method: str
    series: int
    false: int
    found: int


def _ours(values: Values) -> list[list[int]]:
    def of(row: Sequence[float]) -> list[int]:
        points = [Point(f"{at:06}", "", "", ns) for at, ns in enumerate(row)]
        return [int(drift.point.name) for drift in drifts(points)]

    return [of((row * 1e6).tolist()) for row in values]


def _otava(program: Path) -> Finder:
    def of(values: Values) -> list[list[int]]:
        with tempfile.TemporaryDirectory(prefix="rcp-otava-") as scratch:
            folder = Path(scratch)
            _write(folder, values)
            done = subprocess.run(
                [program, "analyze", "s", "--since=2020-01-01", "--output", "json"],
                env={**os.environ, "OTAVA_CONFIG": str(folder / "otava.yaml")},
                cwd=folder,
                capture_output=True,
                text=True,
                check=True,
            )
        found: list[list[int]] = [[] for _ in values]
        for point in json.loads(done.stdout)["s"]:
            for change in point["changes"]:
                found[int(change["metric"].removeprefix("v"))].append(int(change["index"]))
        return found

    return of


def _write(folder: Path, values: Values) -> None:
    """Write series as otava reads them: a metric each, a row a day."""
    names = [f"v{number}" for number in range(len(values))]
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    lines = [",".join(["time", *names])]
    for at, column in enumerate(values.T):
        day = (begin + timedelta(days=at)).strftime("%Y.%m.%d %H:%M:%S +0000")
        lines.append(",".join([day, *(f"{value:.6f}" for value in column)]))
    (folder / "s.csv").write_text("\n".join(lines) + "\n")
    metrics = {name: {"column": name, "direction": -1} for name in names}
    test = {"type": "csv", "file": "s.csv", "time_column": "time", "metrics": metrics}
    # JSON is YAML.
    (folder / "otava.yaml").write_text(json.dumps({"tests": {"s": {**test, "attributes": []}}}))


def measure(series: int, seed: int, otava: Path | None) -> list[Found]:
    """Return how the methods do on as many series without and with a step."""
    generator = np.random.default_rng(seed)
    same = np.exp(generator.normal(0, NOISE, (series, SAVES)))
    step = np.exp(generator.normal(0, NOISE, (series, SAVES)))
    step[:, STEP_AT:] *= STEP
    methods: dict[str, Finder] = {"rcp-trace gate history": _ours}
    if otava:
        methods["apache-otava 0.8"] = _otava(otava)
    found = []
    for method, find in methods.items():
        false = sum(map(bool, find(same)))
        near = sum(any(abs(at - STEP_AT) <= _NEAR for at in told) for told in find(step))
        found.append(Found(method, series, false, near))
    return found
