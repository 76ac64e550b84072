"""RCP_REQUIRE=1 turns skips into failures, and says what was missing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

ONE_OF_EACH = """
import pytest

def test_passes(fixtures_dir):
    assert fixtures_dir.name == "fixtures"

def test_skips_while_running():
    pytest.skip("no qemu here")

@pytest.mark.skip(reason="marked")
def test_is_marked():
    pass

@pytest.mark.xfail(reason="known")
def test_expected_to_fail():
    assert False
"""

WHOLE_FILE = """
import pytest

pytest.skip("no kernel headers", allow_module_level=True)
"""


def run_pytest(folder: Path, source: str, require: str | None) -> subprocess.CompletedProcess[str]:
    (folder / "conftest.py").write_text((ROOT / "conftest.py").read_text())
    (folder / "test_sample.py").write_text(source)
    environment = {k: v for k, v in os.environ.items() if k != "RCP_REQUIRE"}
    if require is not None:
        environment["RCP_REQUIRE"] = require
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-ra", "-p", "no:cacheprovider", "--rootdir", folder],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("require", [None, "0", ""])
def test_skips_stay_skips_by_default(tmp_path: Path, require: str | None) -> None:
    result = run_pytest(tmp_path, ONE_OF_EACH, require)
    assert result.returncode == 0, result.stdout
    assert "1 passed, 2 skipped, 1 xfailed" in result.stdout


def test_require_makes_skips_fail_with_their_reason(tmp_path: Path) -> None:
    result = run_pytest(tmp_path, ONE_OF_EACH, "1")
    assert result.returncode == 1
    assert "1 passed, 1 xfailed" in result.stdout
    assert "RCP_REQUIRE=1 forbids skips." in result.stdout
    assert "no qemu here" in result.stdout
    assert "marked" in result.stdout
    assert "skipped" not in result.stdout.splitlines()[-1]


def test_require_reaches_modules_that_skip_themselves(tmp_path: Path) -> None:
    assert run_pytest(tmp_path, WHOLE_FILE, None).returncode == 5  # nothing collected
    result = run_pytest(tmp_path, WHOLE_FILE, "1")
    assert result.returncode == 2
    assert "no kernel headers" in result.stdout
