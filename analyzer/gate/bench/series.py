"""Change points in simulated histories: rcp's, and apache-otava's if it is installed.

Otava pins old versions of numpy and scipy, so it cannot share rcp's environment: it is run as a
program of another one (``--otava PATH``).
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
"""How many saves early or late a change point may be."""

Values = npt.NDArray[np.float64]
Finder = Callable[[Values], list[list[int]]]
"""Takes series, a row each; returns the change points of each."""


@dataclass(frozen=True)
class Detected:
    """How often a method reported a change that was not there, and detected the one that was."""

    method: str
    series: int
    false: int
    detected: int


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
    """Write series in otava's format: a metric per series, a row per day."""
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


def measure(series: int, seed: int, otava: Path | None) -> list[Detected]:
    """Return each method's results on as many series without a step as with one."""
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
        near = sum(any(abs(at - STEP_AT) <= _NEAR for at in points) for points in find(step))
        found.append(Detected(method, series, false, near))
    return found
