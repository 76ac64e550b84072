"""Listening to processes that run already."""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rcp.fixtures.processes import HANG_S, comes_true
from rcp.tuner.trials.listen import attach
from rcp.tuner.trials.source import Source
from rcp.tuner.trials.workload import WorkloadError

WRITER = "while :; do echo 3ms >> {path}; sleep 0.02; done"


@contextmanager
def running(script: str) -> Iterator[int]:
    with subprocess.Popen(["sh", "-c", script]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


def test_what_its_log_gains_in_the_window_is_measured(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("9ms\n" * 1000)
    with running(WRITER.format(path=path)) as pid:
        began_s = time.monotonic()
        trial = attach(pid, 1.0, Source(str(path)), out=tmp_path)
        took_s = time.monotonic() - began_s
    assert 0 < trial.latencies.n <= path.read_text().count("3ms\n")
    assert set(trial.latencies.by_kind["request"].tolist()) == {3_000_000}
    assert 1.0 <= trial.duration_s < took_s


def test_the_process_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with running(WRITER.format(path=path)) as pid:
        assert comes_true(path.exists)
        attach(pid, 0.2, Source(str(path)), out=tmp_path)
        size = path.stat().st_size
        assert comes_true(lambda: path.stat().st_size > size)


def test_the_hook_can_end_the_window(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    with running(WRITER.format(path=path)) as pid:
        trial = attach(
            pid, HANG_S, Source(str(path)), out=tmp_path, abort=lambda latencies: latencies.n > 3
        )
    assert trial.aborted and trial.latencies.n > 3
    assert trial.duration_s < HANG_S


def test_a_process_that_does_not_run_is_told(tmp_path: Path) -> None:
    with running("exit") as pid:
        pass
    with pytest.raises(WorkloadError) as error:
        attach(pid, 1.0, Source("x"), out=tmp_path)
    assert str(error.value) == f"process {pid} does not run: name a running one."


def test_a_process_that_ends_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("1ms\n")

    def end(_latencies: object) -> bool:
        process.kill()
        process.wait()
        return False

    with subprocess.Popen(["sleep", "1000"]) as process, pytest.raises(WorkloadError) as error:
        attach(process.pid, 30.0, Source(str(path)), out=tmp_path, abort=end)
    told = rf"process {process.pid} ended \d+ s into the window of 30 s: "
    assert re.fullmatch(told + "attach to one that keeps running.", str(error.value))


def test_a_log_that_gains_nothing_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("1ms\n")
    with running("sleep 900") as pid, pytest.raises(WorkloadError) as error:
        attach(pid, 0.2, Source(str(path)), out=tmp_path)
    assert str(error.value) == (
        f"process {pid} added nothing to {path} in 0.2 s: check the path, or raise --window."
    )


def test_a_log_that_is_no_log_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    script = f"while :; do echo 1ms nonsense >> {path}; sleep 0.02; done"
    with (
        running(script) as pid,
        pytest.raises(WorkloadError, match=r"^process .* is in an unknown format"),
    ):
        attach(pid, 1.0, Source(str(path)), out=tmp_path)


def test_without_a_recorder_nothing_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running("sleep 900") as pid:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(WorkloadError) as error:
            attach(pid, 0.2, Source(), out=tmp_path)
    assert str(error.value) == "rcp-trace not found: install rcp-trace beside rcp-tune."


def test_who_is_who_is_told_to_the_recorder(tmp_path: Path) -> None:
    recorder = tmp_path / "rcp-trace"
    recorder.write_text(f'#!/bin/sh\necho "$@" >{tmp_path}/words\nexit 2\n')
    recorder.chmod(0o755)
    words = (str(recorder), "record", "--background", "comm:checkpointer")
    with running("sleep 900") as pid, pytest.raises(WorkloadError):
        attach(pid, 0.2, Source(), out=tmp_path, recorder=words)
    assert (tmp_path / "words").read_text() == (
        f"record --background comm:checkpointer -p {pid} -d 0.2 -o {tmp_path}/attached.spool\n"
    )
