"""Help and completion import no heavy library, whichever command is asked for."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import click
import pytest

from rcp.probes.contract.lazy_group import Lazy, LazyGroup
from rcp.probes.contract.statuses import EXIT_STATUSES

PROGRAMS = ("rcp.analyzer", "rcp.tuner", "rcp.lab", "rcp.mark")
HEAVY = frozenset(
    {"duckdb", "google", "hdrh", "numpy", "optuna", "pandas", "perfetto", "pyarrow", "rich"}
    | {"ruptures", "scipy", "skopt", "sklearn", "streamlit"}
)
MODULES_MAX = 230
"""Python itself imports about 60 modules, click 50 more; each of ours takes up to a millisecond."""

# Runs a program as its script does, then tells what it imported.
RUN = """
import atexit, json, os, sys
module, words, out = sys.argv[1], sys.argv[2:], os.dup(1)
atexit.register(lambda: os.write(out, b"\\n" + json.dumps(sorted(sys.modules)).encode()))
sys.argv = ["program", *words]
from importlib import import_module
import_module(module + ".__main__").main()
"""


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Every command of every program, found by walking the groups."""
    for program in PROGRAMS:
        waiting: list[tuple[list[str], click.Command]] = [
            ([], import_module(f"{program}.cli").main)
        ]
        while waiting:
            words, command = waiting.pop()
            yield program, words
            if isinstance(command, click.Group):
                waiting += [([*words, name], below) for name, below in command.commands.items()]


COMMAND_LINES = list(command_lines())


def groups() -> Iterator[LazyGroup]:
    for program, words in COMMAND_LINES:
        command: click.Command = import_module(f"{program}.cli").main
        for word in words:
            assert isinstance(command, click.Group)
            command = command.commands[word]
        if isinstance(command, LazyGroup):
            yield command


def imported(program: str, words: list[str], **environment: str) -> tuple[str, set[str]]:
    """Return what a program printed, and the modules it imported."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, program, *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    text, _, modules = done.stdout.rpartition("\n")
    return text, set(json.loads(modules))


def light(modules: set[str]) -> None:
    assert modules & HEAVY == set()
    assert len(modules) <= MODULES_MAX


def test_all_commands_were_found() -> None:
    assert ("rcp.analyzer", ["gate", "check"]) in COMMAND_LINES
    assert ("rcp.tuner", ["run"]) in COMMAND_LINES
    assert len(COMMAND_LINES) > 30


@pytest.mark.parametrize(
    ("program", "words"), COMMAND_LINES, ids=[" ".join([p, *w]) for p, w in COMMAND_LINES]
)
def test_help_imports_nothing_heavy(program: str, words: list[str]) -> None:
    text, modules = imported(program, [*words, "--help"])
    assert text.startswith("Usage: ")
    light(modules)


@pytest.mark.parametrize("program", ["rcp.analyzer", "rcp.tuner", "rcp.lab"])
def test_a_programs_help_names_the_statuses_of_its_commands(program: str) -> None:
    help_text = import_module(f"{program}.cli").main.help
    assert EXIT_STATUSES in help_text  # also what man pages are made of
    text, _ = imported(program, ["--help"])
    assert "0 done, 2 error, 70 fault of rcp (with a traceback), 130 Ctrl-C." in " ".join(
        text.split()
    )


def test_help_of_the_lab_imports_nothing_that_builds_or_boots() -> None:
    _, modules = imported("rcp.lab", ["--help"])
    own = {name.split(".")[2] for name in modules if name.startswith("rcp.lab.")}
    assert own == {"__main__", "cli", "command", "commands", "errors", "progress"}


def completed(program: str, *words: str) -> tuple[list[str], set[str]]:
    """Return what TAB after the last word prints, and the modules that were imported for it."""
    name = {"analyzer": "trace", "tuner": "tune", "lab": "lab", "mark": "run"}[program[4:]]
    text, modules = imported(
        program,
        [],
        **{
            f"_RCP_{name.upper()}_COMPLETE": "bash_complete",
            "COMP_WORDS": " ".join([f"rcp-{name}", *words]),
            "COMP_CWORD": str(len(words)),
        },
    )
    return text.splitlines(), modules


@pytest.mark.parametrize(
    ("program", "words"), COMMAND_LINES, ids=[" ".join([p, *w]) for p, w in COMMAND_LINES]
)
def test_completion_imports_nothing_heavy(program: str, words: list[str]) -> None:
    lines, modules = completed(program, *words, "--")
    assert "plain,--help" in lines
    light(modules)


@pytest.mark.parametrize("option", ["--request", "--task"])
def test_completion_from_a_recording_imports_only_duckdb(recording: Path, option: str) -> None:
    lines, modules = completed("rcp.analyzer", "report", str(recording), option, "")
    assert lines
    assert modules & HEAVY == {"duckdb"}


def test_a_groups_lines_are_those_of_its_commands() -> None:
    seen = 0
    for group in groups():
        for name, lazy in group.lazy.items():
            assert isinstance(lazy, Lazy)
            command = lazy.load()
            assert (command.name, command.hidden) == (name, lazy.hidden)
            if not lazy.hidden:
                assert lazy.short_help == command.short_help, name
            seen += 1
    assert seen > 25
