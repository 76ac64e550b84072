"""Whether a workload can be started is known before anything is done."""

from __future__ import annotations

import os
import stat
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.tuner.trials.command import check_command
from rcp.tuner.trials.workload import WorkloadError


def script(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def fault(*command: str) -> str:
    with pytest.raises(WorkloadError) as found:
        check_command(command)
    return str(found.value)


def test_a_name_that_is_nowhere_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert fault("flase", "--x") == (
        "flase --x cannot be started: 'flase' is not in the PATH: check its name, or write its "
        "path."
    )
    script(tmp_path / "wl.sh", "#!/bin/sh\n")
    assert fault("wl.sh").endswith("'wl.sh' is not in the PATH: write ./wl.sh.")
    check_command(["./wl.sh"])


def test_a_path_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    there = script(tmp_path / "there", "#!/bin/sh\n", 0o644)
    cases = {
        f"{tmp_path}/gone": f"{tmp_path}/gone does not exist: check its path",
        str(tmp_path): f"{tmp_path} is a folder: name a program in it",
        there: f"{there} is not executable: run chmod +x {there}",
    }
    for program, expected in cases.items():
        if program == there and os.geteuid() == 0 and os.access(there, os.X_OK):
            continue
        assert expected in fault(program)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("#!/no/such/sh", "there is no '/no/such/sh', which its first line names"),
        ("#!/bin/sh\r", "there is no '/bin/sh\\r', which its first line names"),
        ("#!/usr/bin/env pyhton3", "'pyhton3', which its first line names, is not in the PATH"),
    ],
)
def test_an_interpreter_that_is_not_there_is_told(tmp_path: Path, line: str, expected: str) -> None:
    assert expected in fault(script(tmp_path / "wl", f"{line}\necho 1ms\n"))


@pytest.mark.parametrize("line", ["#!/bin/sh", "#! /bin/sh -e", "#!/usr/bin/env sh", "#!/bin/env"])
def test_one_that_is_there_is_not(tmp_path: Path, line: str) -> None:
    check_command([script(tmp_path / "wl", f"{line}\n")])


def test_a_program_that_a_trial_makes_is_left_to_the_trial() -> None:
    check_command(["{out}/program"])


HEADS = st.sampled_from(
    ["#!/bin/sh\n", "#! /bin/sh\n", "#!/bin/sh\r\n", "#!/gone\n", "#!/usr/bin/env sh\n"]
)


@given(head=HEADS, is_executable=st.booleans(), exists=st.booleans())
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_what_is_refused_could_not_have_been_started(
    tmp_path: Path, head: str, is_executable: bool, exists: bool
) -> None:
    """The kernel is the witness: it starts what passes, and nothing else."""
    path = tmp_path / "wl"
    path.unlink(missing_ok=True)
    if exists:
        script(path, f"{head}exit 0\n", stat.S_IRWXU if is_executable else stat.S_IRUSR)
    try:
        subprocess.run([path], check=False, capture_output=True)
        starts = True
    except OSError:
        starts = False
    try:
        check_command([str(path)])
        passes = True
    except WorkloadError:
        passes = False
    assert passes == starts
