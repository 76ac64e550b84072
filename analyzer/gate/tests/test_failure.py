"""Errors reach the file that a CI shows."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
import xmlschema

from rcp.analyzer.gate.tests.conftest import Gate

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "junit.xsd")


def _xml_message(path: Path) -> str:
    SCHEMA.validate(path)
    suite = ElementTree.parse(path).getroot()[0]
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    error = suite.find("testcase/error")
    assert error is not None
    return error.get("message") or ""


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    path = tmp_path / "nums & <co>.txt"
    path.write_text("12\n")
    return path


ERRORS = {
    "no unit": ("{bare}", "--slo", "p99=1ms"),
    "no such file": ("{bare}.gone", "--slo", "p99=1ms"),
    "bad limit": ("{bare}", "-b", "{bare}", "--max-regression", "p99=5"),
    "no candidate": ("--baseline", "{bare}"),
    "no such option": ("{bare}", "--nosuch"),
    "bad value": ("{bare}", "--slo", "p99=1ms", "--alpha", "7"),
    "a run that fails": (
        "run",
        "--a",
        "echo '<no> disk' >&2; exit 3",
        "--b",
        "true",
        "--runs",
        "1",
    ),
    "a missing option": ("run", "--a", "true"),
}


@pytest.mark.parametrize("words", ERRORS.values(), ids=list(ERRORS))
@pytest.mark.parametrize("form", ["apart", "joined"])
def test_junit_has_the_error_that_stderr_has(
    gate: Gate, tmp_path: Path, bare: Path, words: tuple[str, ...], form: str
) -> None:
    output = tmp_path / "gate.xml"
    output.write_text("of an earlier build")
    options = ["--format", "junit", "-o", str(output)]
    if form == "joined":
        options = ["--format=junit", f"--output={output}"]
    result = gate(*(word.format(bare=bare) for word in words), *options)
    assert result.exit_code == 2
    message = _xml_message(output)
    assert message
    assert message.rstrip(".") in " ".join(result.stderr.split())


def test_json_has_the_error(gate: Gate, tmp_path: Path, bare: Path) -> None:
    output = tmp_path / "gate.json"
    gate(bare, "--slo", "p99=1ms", "--format", "json", "-o", output)
    assert json.loads(output.read_text()) == {
        "error": f"{bare} line 1 has no unit, '12': print one (12ms), or give --unit ms (or ns, "
        "us, s)."
    }


def test_github_gets_an_annotation_and_a_summary(
    gate: Gate, tmp_path: Path, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = gate(bare, "--slo", "p99=1ms", "--format", "github")
    assert result.stdout.startswith(f"::error title=Latency gate error::{bare} line 1 has no unit")
    assert summary.read_text().startswith(f"### ❌ Latency gate: error: {bare} line 1")


def test_junit_can_be_written_beside_another_format(gate: Gate, tmp_path: Path, bare: Path) -> None:
    junit, summary = tmp_path / "gate.xml", tmp_path / "gate.json"
    words = [bare, "--slo", "p99=1ms", "--junit", junit, "--format", "json", "-o", summary]
    assert gate(*words).exit_code == 2
    assert "has no unit" in _xml_message(junit)
    assert "has no unit" in json.loads(summary.read_text())["error"]
    bare.write_text("12ms\n" * 3000 + "13ms\n")
    assert gate(*words).exit_code == 1
    SCHEMA.validate(junit)
    assert json.loads(summary.read_text())["verdict"] == "SLO missed"


@pytest.mark.parametrize("options", [(), ("--format", "junit"), ("--format", "json")])
def test_without_a_file_stdout_stays_empty(
    gate: Gate, bare: Path, options: tuple[str, ...]
) -> None:
    assert gate(bare, "--slo", "p99=1ms", *options).stdout == ""


def test_a_file_that_cannot_be_written_is_the_error(gate: Gate, tmp_path: Path, bare: Path) -> None:
    bare.write_text("12ms\n")
    output = tmp_path / "nowhere/gate.xml"
    result = gate(bare, "--slo", "p99=1s", "--format", "junit", "-o", output)
    assert result.exit_code == 2
    assert f"{output}: No such file or directory" in result.stderr


def test_a_verdict_is_no_error(gate: Gate, tmp_path: Path, bare: Path) -> None:
    bare.write_text("12ms\n" * 3000 + "13ms\n")
    output = tmp_path / "gate.xml"
    assert gate(bare, "--slo", "p99=1ms", "--format", "junit", "-o", output).exit_code == 1
    assert "<failure " in output.read_text()
