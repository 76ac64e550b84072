"""A program whose standard streams are closed works as with /dev/null, and mixes nothing up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rcp.fixtures.synth import Synth


def run(redirected: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rcp.analyzer", *map(str, words)]
    shell = ["bash", "-c", f'exec "$@" {redirected}', "bash", *command]
    return subprocess.run(shell, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    synth = Synth([("background", "comm:checkpointer")])
    writer = synth.task("writer", tid=10, target=True)
    synth.request(writer, 0, 100)
    return synth.write(tmp_path_factory.mktemp("closed") / "x.spool")


def test_without_stdout_nothing_is_wrong(recording: Path) -> None:
    done = run(">&-", "report", recording)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_printed_does_not_go_into_what_is_written(recording: Path, tmp_path: Path) -> None:
    whole, other = tmp_path / "whole.json", tmp_path / "other.json"
    assert run("", "export", recording, "--speedscope", "-o", whole).returncode == 0
    assert run("<&- >&- 2>&-", "export", recording, "--speedscope", "-o", other).returncode == 0
    assert other.read_bytes().replace(b"other", b"whole") == whole.read_bytes()


def test_without_stderr_the_status_tells(tmp_path: Path) -> None:
    done = run("2>&-", "report", tmp_path / "none")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


def test_without_stdin_no_statement_is_given(recording: Path) -> None:
    done = run("<&-", "sql", recording)
    assert done.returncode == 2
    assert done.stderr.startswith("rcp-trace: error: there is no SQL statement: ")
