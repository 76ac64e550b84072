"""Names from a recording give a terminal no orders, whatever command prints them.

Every user of a machine chooses the names of threads and files; root reads the recording.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from rcp.analyzer.cli import main
from rcp.analyzer.loading.load import load_spool
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason

NAMES = {
    "task": ("comm", "role_rule"),
    "inversion": ("culprit", "role_rule", "chain", "pattern"),
    "device": ("name",),
    "file": ("name", "parent", "path"),
    "request": ("name",),
    "role_rule": ("rule",),
}
PWN = "\x1b[31m\x1b]0;pwn\x07"
# What DuckDB takes as text: all of Unicode but surrogates.
ANY_NAME = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda name: "\0" not in name)
TEXT_COMMANDS = (
    ("report",),
    ("path", "1"),
    ("roles",),
    ("sql", "SELECT * FROM task"),
    ("sql", 'SELECT comm AS "a\nb" FROM task', "--format", "markdown"),
    ("diff",),
    ("export", "--folded", "-o", "-"),
    ("export", "--speedscope", "-o", "-"),
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    synth = Synth([("background", "comm:checkpointer")])
    fg, bg = synth.task("writer", tid=10, target=True), synth.task("checkpointer", tid=20)
    synth.file(7, "wal")
    synth.request(fg, 1000, 1100)
    synth.sleep(fg, 1010, 1090, waker=bg, owner=bg, reason=WaitReason.LOCK)
    synth.io(fg, 1002, 1008, issued=1003)
    folder = tmp_path_factory.mktemp("hostile")
    load_spool(synth.write(folder / "x.spool"), folder / "x.duckdb")
    return folder / "x.duckdb"


@contextmanager
def named(plain: Path, name: str) -> Iterator[Path]:
    """Copy a recording with *name* in all columns of names."""
    copy = plain.with_name("named.duckdb")
    shutil.copyfile(plain, copy)
    with duckdb.connect(str(copy)) as connection:
        for table, columns in NAMES.items():
            for column in columns:
                connection.execute(f"UPDATE {table} SET {column} = $1", [name])
        facts = {"host": {"name": name, "kernel": name}, "end": {"why": name, "detail": name}}
        for key, value in facts.items():
            connection.execute("DELETE FROM meta WHERE key = $1", [key])
            connection.execute("INSERT INTO meta VALUES ($1, $2)", [key, json.dumps(value)])
    yield copy
    copy.unlink()


def words(command: tuple[str, ...], file: Path) -> list[str]:
    files = [str(file)] * (2 if command[0] == "diff" else 1)
    return [command[0], *files, *command[1:]]


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=ANY_NAME, columns=st.sampled_from(["", "60", "120"]))
@example(name=PWN, columns="")
@example(name="two\nlines", columns="80")
@example(name="\x9b31m\x7f\u202e\u2066\u2028\u2029\x85", columns="80")
def test_no_command_prints_a_control_character(plain: Path, name: str, columns: str) -> None:
    with named(plain, name) as file:
        for command in TEXT_COMMANDS:
            result = CliRunner(env={"COLUMNS": columns}).invoke(main, words(command, file))
            assert result.exit_code == 0, (command, result.output)
            for line in result.stdout.split("\n"):
                assert line.isprintable(), (command, line)


@pytest.mark.parametrize("command", TEXT_COMMANDS)
def test_a_name_cannot_add_lines(plain: Path, command: tuple[str, ...]) -> None:
    def n_lines(name: str) -> int:
        with named(plain, name) as file:
            return CliRunner().invoke(main, words(command, file)).stdout.count("\n")

    assert n_lines("a\nb") == n_lines("a\\nb")


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(name=ANY_NAME)
@example(name=PWN)
def test_programs_get_names_unchanged(plain: Path, name: str) -> None:
    query = "SELECT comm FROM task WHERE tid = 10"
    with named(plain, name) as file:
        out = {
            kind: CliRunner().invoke(main, ["sql", str(file), query, "--format", kind]).stdout_bytes
            for kind in ("json", "csv")
        }
    text = out["json"].decode()
    assert json.loads(text) == [{"comm": name}]
    assert all(character.isprintable() or character == "\n" for character in text)
    rows = list(csv.reader(io.StringIO(out["csv"].decode(), newline="")))
    assert rows == [["comm"], [name]]


def test_an_error_spells_the_name_of_a_file(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["report", str(tmp_path / PWN)])
    assert result.exit_code == 2
    assert "\\u001b]0;pwn" in result.stderr
    assert result.stderr.removesuffix("\n").isprintable()


def test_a_usage_error_spells_what_was_typed() -> None:
    result = CliRunner().invoke(main, ["report", "x", f"--{PWN}"])
    assert result.exit_code == 2
    assert all(line.isprintable() for line in result.stderr.split("\n"))
