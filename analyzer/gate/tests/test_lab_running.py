"""``rcp-trace gate run --lab``: each run in a guest, in virtual time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.gate.tests.conftest import Gate

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]

# Works for so long, four in a hundred times twice; what is measured is the emulated CPU.
LOAD = """
import os, sys, time
with open(os.environ["RCP_LAB_OUT"] + "/latencies.txt", "w") as file:
    for n in range(3000):
        start = time.perf_counter_ns()
        sum(range(int(sys.argv[1]) * (2 if n % 25 == 0 else 1)))
        file.write(f"{time.perf_counter_ns() - start}ns\\n")
"""


def test_two_commands_are_compared_exactly_after_one_boot_each(gate: Gate, tmp_path: Path) -> None:
    program = tmp_path / "load.py"
    program.write_text(LOAD)
    run = "python3 $RCP_LAB_IN/inputs/load.py"
    result = gate(
        *("run", "--lab", "--lab-options", f"--input {program}", "--latencies", "latencies.txt"),
        *("--a", f"{run} 1000", "--b", f"{run} 1300", "--keep", tmp_path / "kept"),
        *("--max-regression", "p50=5%,p99=5%", "--format", "json"),
    )
    assert result.exit_code == 1, result.output
    told = json.loads(result.stdout)
    assert (told["verdict"], told["exact"], told["confirmed"]) == ("regression", True, None)
    for tested in told["quantiles"]:
        assert 1.1 < tested["ratio"] < 1.4
    assert result.stderr.splitlines() == ["rcp-trace: A, run 1", "rcp-trace: B, run 1"]
    for side in "AB":
        assert (tmp_path / f"kept/{side}1/lab/result.json").exists()
