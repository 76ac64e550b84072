"""The composite action's own shell, run as GitHub runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rcp.analyzer.gate.tests.conftest import MakeRuns

ROOT = Path(__file__).parents[3]


@pytest.fixture
def action() -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
    return told


def judged(action: dict[str, Any], folder: Path, **inputs: str) -> tuple[int, str]:
    """Run the step that judges; return its exit status and the step's summary."""
    runner = folder / "runner"
    (runner / "rcp/bin").mkdir(parents=True)
    (runner / "rcp/bin/rcp-trace").symlink_to(Path(sys.executable).with_name("rcp-trace"))
    (step,) = [step for step in action["runs"]["steps"] if step.get("id") == "gate"]
    given = {name: spec.get("default", "") for name, spec in action["inputs"].items()} | inputs
    wanted = {
        name: given[value.removeprefix("${{ inputs.").removesuffix(" }}")]
        for name, value in step["env"].items()
    }
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}
    done = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", step["run"]],
        cwd=folder,
        env={
            **os.environ,
            **wanted,
            **{name: str(folder / file) for name, file in files.items()},
            "RUNNER_TEMP": str(runner),
        },
        check=False,
    )
    assert (folder / "output").read_text() == f"exit-status={done.returncode}\n"
    return done.returncode, (folder / "summary.md").read_text()


def test_the_step_passes_on_the_gates_verdict(
    action: dict[str, Any], make_runs: MakeRuns, tmp_path: Path
) -> None:
    make_runs("old")
    make_runs("new", factor=1.4)
    status, summary = judged(
        action, tmp_path, candidate="new*.txt", baseline="old*.txt", junit="gate.xml", slo="p50=1s"
    )
    assert status == 1
    assert summary.startswith("### ❌ Latency gate: regression: p99 ")
    assert "<failure " in (tmp_path / "gate.xml").read_text()


def test_every_input_is_described(action: dict[str, Any]) -> None:
    assert all(spec["description"] for spec in action["inputs"].values())
