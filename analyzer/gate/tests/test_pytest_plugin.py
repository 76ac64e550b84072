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
    assert "confirmed by fresh runs" in " ".join(failed.stdout.split())


def test_noise_warns_and_a_short_setup_fails(tests: Path) -> None:
    assert pytest_of(tests, "--rcp-gate-save").returncode == 0
    file = tests / "test_put.py"
    noisy = (TEST % (2, "generator.choice([0.3, 1, 3])")).replace("15%", "5%")
    file.write_text(noisy)
    warned = pytest_of(tests)
    assert warned.returncode == 0, warned.stdout
    assert "rcp_gate put: inconclusive: p99 " in warned.stdout
    file.write_text(noisy.replace("runs=6", "runs=6, inconclusive='fail'"))
    assert pytest_of(tests).returncode == 1
    file.write_text(noisy.replace("range(3000)", "range(300)"))
    assert pytest_of(tests).returncode == 1


def test_saving_too_few_runs_warns(tests: Path) -> None:
    (tests / "test_put.py").write_text((TEST % (1, "1.0")).replace("runs=6", "runs=2"))
    saved = pytest_of(tests, "--rcp-gate-save")
    assert saved.returncode == 0
    assert "rcp_gate put: 2 runs saved, 5 are needed and 8 are better: every" in saved.stdout
