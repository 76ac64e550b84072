"""What every program does where its output cannot be printed, and while it starts."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.probes.contract.boundary import EXIT_INTERRUPTED

BIN = Path(sys.executable).parent
MODULES = {"rcp-trace": "analyzer", "rcp-tune": "tuner", "rcp-lab": "lab", "rcp-run": "mark"}
PRINTING = [
    *([program, option] for program in MODULES for option in ("--help", "--version")),
    ["rcp-trace", "report", "--help"],
    ["rcp-lab", "scenarios"],
    ["rcp-lab", "scenarios", "--format", "json"],  # more than Python's buffer holds
]


def outcome(words: list[str], stdout: int) -> tuple[int, str]:
    command = [str(BIN / words[0]), *words[1:]]
    done = subprocess.run(command, stdout=stdout, stderr=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_full_disk_is_told_in_one_line(words: list[str]) -> None:
    with Path("/dev/full").open("w") as full:
        told = outcome(words, full.fileno())
    assert told == (2, f"{words[0]}: error: output: No space left on device.\n")


@pytest.mark.parametrize("words", PRINTING, ids=" ".join)
def test_a_reader_that_is_gone_is_no_error(words: list[str]) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        assert outcome(words, write_end) == (0, "")
    finally:
        os.close(write_end)


TOY = """
import sys, types, click
from rcp.probes.contract import boundary
@click.command()
def main():
    %s
module = sys.modules["toy"] = types.ModuleType("toy")
module.main = main
boundary.run("rcp-toy", "toy:main")
"""


@pytest.mark.parametrize("status", [0, 1, 3])
def test_a_verdict_that_nobody_reads_stands(status: int) -> None:
    """A gate's regression is no pass because its reader has gone."""
    code = TOY % (
        "from rcp.probes.contract.printing.output import read_or_not\n"
        '    with read_or_not(): click.echo("regression")\n'
        f"    click.get_current_context().exit({status})"
    )
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        told = subprocess.run(
            [sys.executable, "-c", code], stdout=write_end, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(write_end)
    assert (told.returncode, told.stderr) == (status, b"")


# The command of TOY in a group whose commands end in one line.
GROUPED = TOY.replace(
    "module =",
    """
from rcp.probes.contract.cli_error import OneLineError, OneLineGroup
class Group(OneLineGroup):
    error = OneLineError
command, main = main, Group()
main.add_command(command, "toy")
sys.argv.append("toy")
module =""",
)


@pytest.mark.parametrize(
    ("unread", "answer", "status"),
    [
        ("stdout", 'click.echo("x" * 100_000)', 0),
        # What was to come may have been a verdict.
        ("stderr", 'click.echo("x" * 100_000, err=True)', 2),
        ("stderr", 'print_note("x" * 100_000); sys.exit(1)', 1),
    ],
)
@pytest.mark.parametrize("toy", [TOY, GROUPED], ids=["command", "group"])
def test_a_stream_that_nobody_reads_ends_it_quietly(
    toy: str, unread: str, answer: str, status: int
) -> None:
    code = "from rcp.probes.contract.printing.output import print_note\n" + toy % answer
    read_end, write_end = os.pipe()
    os.close(read_end)
    out, err = (write_end if unread == name else subprocess.PIPE for name in ("stdout", "stderr"))
    try:
        done = subprocess.run([sys.executable, "-c", code], stdout=out, stderr=err, check=False)
    finally:
        os.close(write_end)
    assert done.returncode == status
    assert not done.stdout and not done.stderr


@pytest.mark.parametrize("toy", [TOY, GROUPED], ids=["command", "group"])
def test_a_pipe_of_its_own_that_breaks_is_a_fault(toy: str) -> None:
    code = toy % 'raise BrokenPipeError(32, "Broken pipe")'
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, "a fault of rcp" in done.stderr) == (70, True)


@pytest.mark.parametrize(
    ("fault", "status"),
    [('raise click.UsageError("no")', 2), ('raise click.ClickException("no")', 1), ("1 / 0", 70)],
)
def test_the_status_tells_where_stderr_is_full(fault: str, status: int) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([sys.executable, "-c", TOY % fault], stderr=full, check=False)
    assert done.returncode == status


def test_what_was_not_flushed_is_not_lost_without_a_word() -> None:
    with Path("/dev/full").open("w") as full:
        told = subprocess.run(
            [sys.executable, "-c", TOY % "print('answer')"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert told.returncode == 2
    assert told.stderr == "rcp-toy: error: output: No space left on device.\n"


# Ctrl-C when *argv[1]* is first imported, in a program that is started as its script does it.
STARTED = """
import os, runpy, signal, sys
wanted, script = sys.argv[1:3]
class Finder:
    def find_spec(self, name, *_):
        if name == wanted: os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
if sys.argv[3:]: signal.signal(signal.SIGINT, signal.SIG_IGN)
sys.argv = [script, "--version"]
runpy.run_path(script, run_name="__main__")
"""


def interrupted(at: str, program: str, *more: str) -> tuple[int, str]:
    command = [sys.executable, "-c", STARTED, at, str(BIN / program), *more]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


@pytest.mark.parametrize("program", MODULES)
@pytest.mark.parametrize("at", ["rcp.probes.contract.boundary", "click"])
def test_ctrl_c_while_a_program_starts_is_without_a_word(program: str, at: str) -> None:
    assert interrupted(at, program) == (EXIT_INTERRUPTED, "")


def test_an_ignored_ctrl_c_stays_ignored_from_the_start() -> None:
    assert interrupted("rcp.probes.contract.boundary", "rcp-trace", "ignored") == (0, "")


@pytest.mark.parametrize("module", MODULES.values())
def test_importing_a_program_leaves_ctrl_c_alone(module: str) -> None:
    code = (
        f"import signal, rcp.{module}.__main__\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
