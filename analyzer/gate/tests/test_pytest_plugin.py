"""The fixture ``rcp_gate``, in a pytest of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEST = """
import random

def test_the_tail(rcp_gate):
    generator = random.Random(%d)

    def run():
        effect = generator.lognormvariate(0, 0.02) * %s
        return [generator.lognormvariate(0, 0.5) * effect for _ in range(3000)]

    rcp_gate("put", run, unit="ms", runs=6, max_regression="p99=15%%")
"""


@pytest.fixture
def tests(tmp_path: Path) -> Path:
    (tmp_path / "test_put.py").write_text(TEST % (1, "1.0"))
    return tmp_path


def pytest_of(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_first_run_says_how_to_save_a_baseline(tests: Path) -> None:
    done = pytest_of(tests)
    assert done.returncode == 1
    assert (
        "there is no baseline rcp-gate/put: save the first one with `pytest --rcp-gate-save`."
        in done.stdout
    )


def test_what_was_saved_is_compared_with(tests: Path) -> None:
    assert pytest_of(tests, "--rcp-gate-save").returncode == 0
    (tests / "test_put.py").write_text(TEST % (2, "1.0"))
    passed = pytest_of(tests)
    assert passed.returncode == 0, passed.stdout
    (tests / "test_put.py").write_text(TEST % (3, "1.5"))
    failed = pytest_of(tests)
    assert failed.returncode == 1
    assert "regression: p99 " in failed.stdout
    assert "confirmed by fresh runs" in failed.stdout
