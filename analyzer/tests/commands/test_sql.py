"""``rcp-trace sql``: where the statement comes from, what is printed, and how it ends."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.fixtures.processes import HANG_S

ROWS = "SELECT * FROM (VALUES (1, 'a|b', NULL), (20, 'tab\there', 0.5)) t(n, name, x)"
FOR_EVER = "SELECT count(*) FROM range(1000000000000) t(a) WHERE hash(a) % 7 = 3"
CPU_S = 3.0  # after that much, a query that never ends is running


def sql(recording: Path, *words: str, stdin: str | None = None, columns: str = "") -> Result:
    runner = CliRunner(env={"COLUMNS": columns})
    return runner.invoke(main, ["sql", str(recording), *words], input=stdin)


@pytest.mark.parametrize("words", [[], ["-"]])
def test_the_statement_may_come_from_stdin(recording: Path, words: list[str]) -> None:
    assert sql(recording, *words, stdin="SELECT 1 AS one\n").stdout == "one\n  1\n"


@pytest.mark.parametrize("comment", ["-- how many?", "--how many?"])
def test_a_statement_may_begin_with_a_comment(recording: Path, comment: str) -> None:
    query = f"{comment}\nSELECT 1 AS one"
    for words in ([query], ["--format", "tsv", query], ["--", query]):
        result = sql(recording, *words)
        assert (result.exit_code, "".join(result.stdout.split())) == (0, "one1"), result.stderr


@pytest.mark.parametrize("option", ["--frmat", "--frmat=a b"])
def test_an_unknown_option_is_still_told(recording: Path, option: str) -> None:
    result = sql(recording, option, "SELECT 1")
    assert (result.exit_code, "No such option '--frmat'" in result.stderr) == (2, True)


def test_an_empty_stdin_is_no_statement(recording: Path) -> None:
    result = sql(recording, stdin="")
    assert result.exit_code == 2
    assert "there is no SQL statement: give one" in result.stderr


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("text", " n  name          x\n 1  a|b        NULL\n20  tab\\there   0.5\n"),
        ("csv", "n,name,x\n1,a|b,\n20,tab\there,0.5\n"),
        ("tsv", "n\tname\tx\n1\ta|b\t\n20\ttab\\there\t0.5\n"),
        (
            "ndjson",
            '{"n": 1, "name": "a|b", "x": null}\n{"n": 20, "name": "tab\\there", "x": 0.5}\n',
        ),
        (
            "markdown",
            "| n | name | x |\n| ---: | --- | ---: |\n| 1 | a\\|b | NULL |\n"
            "| 20 | tab\\there | 0.5 |\n",
        ),
    ],
)
def test_rows_in_every_format(recording: Path, kind: str, text: str) -> None:
    assert sql(recording, ROWS, "--format", kind).stdout == text


NESTED = (
    "SELECT [1, NULL] AS l, {'a': 'x|y', 'b': NULL} AS s, map {1: [chr(27)]} AS m, "
    "row(1, DATE '2020-01-01') AS r"
)


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (
            "text",
            [
                "l          s                        m                  r",
                r'[1, null]  {"a": "x|y", "b": null}  {"1": ["\u001b"]}  [1, "2020-01-01"]',
            ],
        ),
        (
            "tsv",
            [
                "l\ts\tm\tr",
                '[1, null]\t{"a": "x|y", "b": null}\t{"1": ["\\\\u001b"]}\t[1, "2020-01-01"]',
            ],
        ),
        (
            "csv",
            [
                "l,s,m,r",
                r'"[1, null]","{""a"": ""x|y"", ""b"": null}","{""1"": [""\u001b""]}",'
                '"[1, ""2020-01-01""]"',
            ],
        ),
        (
            "markdown",
            [
                "| l | s | m | r |",
                "| --- | --- | --- | --- |",
                r'| [1, null] | {"a": "x\|y", "b": null} | {"1": ["\u001b"]} | [1, "2020-01-01"] |',
            ],
        ),
    ],
)
def test_nested_values_are_json_in_every_format(
    recording: Path, kind: str, rows: list[str]
) -> None:
    assert sql(recording, NESTED, "--format", kind).stdout.splitlines() == rows


def test_json_has_no_infinity(recording: Path) -> None:
    query = "SELECT 1 / 0 AS a, 'nan'::DOUBLE AS b, ['inf'::FLOAT] AS c"
    for kind, want in (("json", "[%s]"), ("ndjson", "%s")):
        found = json.loads(sql(recording, query, "--format", kind).stdout)
        assert found == json.loads(want % '{"a": null, "b": null, "c": [null]}')


def test_columns_of_one_name_are_all_in_the_json(recording: Path) -> None:
    result = sql(recording, "SELECT 1 AS n, 2 AS n, 3 AS n", "--format", "json")
    assert json.loads(result.stdout) == [{"n": 1, "n:1": 2, "n:2": 3}]


def test_a_field_of_csv_may_hold_an_escape_sequence(recording: Path) -> None:
    result = sql(recording, "SELECT chr(27) || '[31m' AS red", "--format", "csv")
    assert list(csv.reader(result.stdout.splitlines())) == [["red"], ["\x1b[31m"]]


def test_a_table_wider_than_the_page_has_a_value_a_line(recording: Path) -> None:
    query = "SELECT 1 AS n, repeat('x', 70) AS long, 'some words that can be wrapped' AS words"
    lines = sql(recording, query, columns="60").stdout.splitlines()
    assert lines[:3] == ["row 1", "  n      1", f"  long   {'x' * 70}"]
    wide = sql(recording, query).stdout.splitlines()
    assert len(wide) == 2 and len(wide[1]) > 100  # a pipe: nothing is cut or wrapped


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_plan_is_drawn(recording: Path) -> None:
    lines = sql(recording, "EXPLAIN SELECT sum(dur) FROM request WHERE dur > 7").stdout.splitlines()
    assert not any("\\n" in line for line in lines)
    assert len(lines) > 5 and len({len(line) for line in lines}) == 1


def test_ctrl_c_stops_a_query_that_never_ends(recording: Path) -> None:
    running = subprocess.Popen(
        [sys.executable, "-m", "rcp.analyzer", "sql", str(recording), FOR_EVER],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        while cpu_s(running.pid) < CPU_S:
            assert running.poll() is None, running.communicate()
            time.sleep(0.05)
        running.send_signal(signal.SIGINT)
        out, error = running.communicate(timeout=HANG_S)
    finally:
        running.kill()
    assert (running.returncode, out, error) == (130, "", "\n")  # a new line after ^C
