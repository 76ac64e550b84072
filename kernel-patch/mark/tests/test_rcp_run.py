"""rcp-run on the kernel at hand; util-linux's ionice is the second witness.

What it does on a patched kernel is tested in the lab.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.mark import levels

needs_ionice = pytest.mark.skipif(shutil.which("ionice") is None, reason="needs ionice")
needs_stock = pytest.mark.skipif(levels.supported(), reason="this kernel has the patch")


def rcp_run(*arguments: str) -> subprocess.CompletedProcess[str]:
    code = "from rcp.mark.cli import main; main(prog_name='rcp-run')"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )


@needs_ionice
@needs_stock
def test_background_work_gets_the_idle_class_and_is_told_why() -> None:
    done = rcp_run("--noncritical", "--", "ionice")
    assert (done.returncode, done.stdout) == (0, "idle\n")
    assert done.stderr == (
        f"rcp-run: kernel {os.uname().release} lacks rcp's patch; "
        "marked by I/O priority instead, which children inherit\n"
    )


def may_be_realtime() -> bool:
    """Whether ionice, the witness, may have class RT here: root of a container may not."""
    done = subprocess.run(["ionice", "-c1", "-n4", "true"], capture_output=True, check=False)
    return done.returncode == 0


@needs_ionice
@needs_stock
def test_critical_programs_get_the_realtime_class() -> None:
    done = rcp_run("--critical", "--", "ionice")
    if may_be_realtime():
        assert done.stdout == "realtime: prio 4\n"
    else:
        assert done.returncode == 2
        assert done.stderr == (
            "rcp-run: error: cannot set the I/O priority of this process: "
            "Operation not permitted: run as root.\n"
        )


@needs_ionice
def test_a_running_process_is_marked_with_all_its_threads() -> None:
    child = subprocess.Popen(["sleep", "900"])
    try:
        done = rcp_run("--noncritical", "--pid", str(child.pid))
        seen = subprocess.run(
            ["ionice", "-p", str(child.pid)], capture_output=True, text=True, check=True
        )
    finally:
        child.kill()
        child.wait()
    assert (done.returncode, done.stderr, seen.stdout) == (0, "", "idle\n")


def test_the_exit_status_is_the_commands() -> None:
    assert rcp_run("--noncritical", "--", "sh", "-c", "exit 7").returncode == 7


@pytest.mark.parametrize(
    ("arguments", "last_line"),
    [
        (["true"], "Error: give one of --critical, --noncritical and --unmark."),
        (["--critical"], "Error: give either a command to run or --pid of a running process."),
        (
            ["--critical", "--pid", "1", "true"],
            "Error: give either a command to run or --pid of a running process.",
        ),
        (
            ["--noncritical", "--pid", "999999999"],
            "rcp-run: error: no process 999999999: ps -e lists the running ones.",
        ),
        (
            ["--critical", "--noncritical", "true"],
            "Error: --critical and --noncritical exclude each other: give one of them.",
        ),
        (
            ["--noncritical", "--unmark", "--pid", "1"],
            "Error: --noncritical and --unmark exclude each other: give one of them.",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(arguments: list[str], last_line: str) -> None:
    done = rcp_run(*arguments)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == last_line


@pytest.mark.parametrize(
    ("command", "status", "fault"),
    [
        ("no-such-program", 127, "no-such-program: command not found."),
        ("/no/such/program", 127, "/no/such/program: command not found."),
        ("re\x1b[31m", 127, "re\\u001b[31m: command not found."),
        ("/etc/passwd", 126, "/etc/passwd: Permission denied."),
        ("/", 126, "/: Permission denied."),
    ],
)
def test_a_command_that_cannot_run_has_the_status_of_a_shell(
    command: str, status: int, fault: str
) -> None:
    done = rcp_run("--noncritical", "--", command)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (status, f"rcp-run: error: {fault}")
    shell = subprocess.run(["sh", "-c", shlex.quote(command)], capture_output=True, check=False)
    assert shell.returncode == status


@needs_stock
def test_without_the_patch_the_calls_say_so() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        levels.get()


def test_the_c_header_has_the_numbers_of_the_python_module() -> None:
    text = (Path(levels.__file__).parent / "rcp.h").read_text()
    numbers = dict(re.findall(r"(?:#define )?(\w+) =? ?(0x[0-9a-f]+|\d+)", text))
    assert int(numbers["PR_RCP"], 16) == levels._PR_RCP
    assert int(numbers["PR_RCP_SET"]) == levels._PR_RCP_SET
    assert int(numbers["PR_RCP_GET"]) == levels._PR_RCP_GET
    assert int(numbers["PR_RCP_KEEP"], 16) == levels._PR_RCP_KEEP
    for level in levels.Level:
        assert int(numbers[f"RCP_{level.name}"]) == level
