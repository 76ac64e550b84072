"""Tests of the lab under each shift, and the page that tells which held."""

from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]

SAMPLE = """
import os

def test_holds():
    with open("runs", "a") as file:
        file.write(os.environ["RCP_LAB_SHIFT"])

def test_by_shift():
    assert os.environ["RCP_LAB_SHIFT"] != "3"
"""


@pytest.fixture
def shifts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / ".ci")  # as of a script there
    return import_module("shifts")


def test_a_shift_is_run_once_at_a_commit(
    shifts: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_sample.py").write_text(SAMPLE)
    monkeypatch.chdir(tmp_path)
    shifts.BUILD.mkdir(parents=True)
    for _ in range(2):
        report = shifts.play(3, "abc", ["-q", "--rootdir", "."])
    assert shifts.outcomes(report) == {
        "test_sample::test_holds": "",
        "test_sample::test_by_shift": "failed",
    }
    assert (tmp_path / "runs").read_text() == "3"
    shifts.play(3, "abc-dirty", ["-q", "--rootdir", "."])
    assert (tmp_path / "runs").read_text() == "33"


def test_what_pytest_cannot_run_is_no_result(
    shifts: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "test_sample.py").write_text("import nothing_of_this_name\n")
    monkeypatch.chdir(tmp_path)
    shifts.BUILD.mkdir(parents=True)
    with pytest.raises(SystemExit, match="2"):
        shifts.play(3, "abc", ["-q", "--rootdir", "."])
    assert not list(shifts.BUILD.glob("*.xml"))


def test_the_page_names_what_did_not_hold(shifts: ModuleType) -> None:
    held = {"a.test_x::test_one": "", "a.test_x::test_two": "", "b::test": ""}
    by_shift = {0: held, 1: {**held, "a.test_x::test_two": "failed"}, 2: {**held}}
    del by_shift[2]["b::test"]
    lines = shifts.page("abc", by_shift).splitlines()
    assert [line for line in lines if line.startswith("| `")] == [
        "| `a.test_x` | 2 of 2 | 1 of 2 | 2 of 2 |",
        "| `b` | 1 of 1 | 1 of 1 | 0 of 1 |",
        "| `a.test_x::test_two` | held | failed | held |",
        "| `b::test` | held | held | not run |",
    ]
    assert lines[-1] == "1 of 3 tests held under every shift."
    assert "Made by `make test-shifts` at abc." in "\n".join(lines)
