"""Tests of the lab that fail are booted once more under another shift, and named if they pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

SAMPLE = """
import os
import pytest

SHIFT = os.environ.get("RCP_LAB_SHIFT")

def test_holds():
    pass

@pytest.mark.parametrize("n", range({by_shift}))
def test_by_shift(n):
    assert SHIFT == "1"

@pytest.fixture(scope="module", params=range({boots}))
def boot(request):
    assert SHIFT == "1", request.param

@pytest.mark.parametrize("n", range(3))
def test_of_a_boot(boot, n):
    pass

@pytest.mark.skipif({never} == 0, reason="not asked for")
def test_never():
    assert False
"""


def run(
    folder: Path, name: str = "test_sample.py", boots: int = 0, **counts: int
) -> tuple[int, list[str]]:
    (folder / name).write_text(SAMPLE.format(boots=boots, **counts))
    environment = {k: v for k, v in os.environ.items() if k != "RCP_LAB_SHIFT"}
    done = subprocess.run(
        [sys.executable, str(ROOT / ".ci/lab_tests.py"), "-q", "--rootdir", str(folder)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.parametrize("n", [1, 2])
def test_what_passes_shifted_is_named_and_does_not_fail(tmp_path: Path, n: int) -> None:
    status, lines = run(tmp_path, by_shift=n, never=0)
    names = ", ".join(f"test_sample.py::test_by_shift[{i}]" for i in range(n))
    assert (status, lines[-1]) == (0, f"{n} passed only under another shift: {names}")
    assert (tmp_path / "build/passed-only-shifted.txt").read_text() == f"{lines[-1]}\n"


def test_nothing_is_booted_again_when_all_hold(tmp_path: Path) -> None:
    (tmp_path / "build").mkdir()
    (tmp_path / "build/passed-only-shifted.txt").write_text("of an earlier run\n")
    status, lines = run(tmp_path, by_shift=0, never=0)
    assert status == 0
    assert not any("--shift" in line for line in lines)
    assert not (tmp_path / "build/passed-only-shifted.txt").exists()


def test_what_fails_under_both_fails_the_job(tmp_path: Path) -> None:
    status, lines = run(tmp_path, by_shift=1, never=1)
    assert status == 1
    assert any("1 failed, 1 passed" in line for line in lines)


def test_more_than_two_fail_the_job_at_once(tmp_path: Path) -> None:
    status, lines = run(tmp_path, by_shift=3, never=0)
    assert (status, lines[-1]) == (
        1,
        "3 tests or boots of the lab failed: too many to blame interleavings",
    )


def test_a_boot_that_many_tests_share_fails_once(tmp_path: Path) -> None:
    status, lines = run(tmp_path, by_shift=0, never=0, boots=2)
    assert status == 0
    assert lines[-1].startswith("6 passed only under another shift: ")


def test_more_than_two_boots_fail_the_job_at_once(tmp_path: Path) -> None:
    status, lines = run(tmp_path, by_shift=1, never=0, boots=2)
    assert (status, lines[-1]) == (
        1,
        "3 tests or boots of the lab failed: too many to blame interleavings",
    )


def test_what_does_not_run_alone_is_not_booted_again(tmp_path: Path) -> None:
    status, lines = run(tmp_path, "test_wheel.py", by_shift=1, never=0)
    assert status == 1
    assert not any("--shift" in line for line in lines)


def test_a_file_that_cannot_be_read_is_no_case_for_it(tmp_path: Path) -> None:
    (tmp_path / "test_broken.py").write_text("import no_such_module\n")
    status, lines = run(tmp_path, by_shift=0, never=0)
    assert status == 2
    assert not any("--shift" in line for line in lines)
