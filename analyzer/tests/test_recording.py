"""The checked-in recording of a real kernel, analysed anew."""

import json
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main

# What fio itself printed for the same run (fixtures/recordings/README.md).
FIO_N, FIO_MEAN_NS, FIO_P99_NS = 3999, 1_873_412, 15_400_960


@pytest.fixture(scope="module")
def recording() -> Path:
    return Path(__file__).parents[2] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"


@pytest.fixture(scope="module")
def report(recording: Path) -> dict[str, Any]:
    result = CliRunner().invoke(main, ["report", str(recording), "--format", "json"])
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_it_is_small_enough_to_ship(recording: Path) -> None:
    assert recording.stat().st_size <= 1 << 20


def test_its_requests_are_those_fio_counted(report: dict[str, Any]) -> None:
    fsync = report["latencies"][0]
    assert (fsync["name"], fsync["role"], fsync["n"]) == ("fsync", "foreground", FIO_N)
    assert fsync["avg_ns"] == pytest.approx(FIO_MEAN_NS, rel=0.02)
    assert fsync["p99_ns"] == pytest.approx(FIO_P99_NS, rel=0.02)


def test_its_top_inversion_leads_through_jbd2_to_the_checkpointer(report: dict[str, Any]) -> None:
    top = report["patterns"][0]
    assert (top["kind"], top["culprit"], top["role"]) == (
        "condition",
        "checkpointer",
        "background",
    )
    assert "journal_commit (jbd2/" in top["chain"]


def test_its_segments_cover_every_request(recording: Path) -> None:
    query = (
        "SELECT count(*) AS n FROM (SELECT request_id FROM request LEFT JOIN segment"
        " USING (request_id) WHERE request.dur IS NOT NULL GROUP BY request_id, request.dur"
        " HAVING sum(segment.dur) IS DISTINCT FROM request.dur)"
    )
    result = CliRunner().invoke(main, ["sql", str(recording), query, "--format", "json"])
    assert json.loads(result.stdout) == [{"n": 0}]


@pytest.mark.parametrize(
    ("first", "words"),
    [
        ("    Background work delayed", ["report"]),
        ("    request 1234: ", ["path", "1234"]),
    ],
)
def test_the_readme_shows_what_is_printed(recording: Path, first: str, words: list[str]) -> None:
    page = (recording.parents[2] / "README.md").read_text().split("\n")
    (start,) = [at for at, line in enumerate(page) if line.startswith(first)]
    shown = takewhile(lambda line: not line or line.startswith("    "), page[start:])
    lines = [line.strip() for line in shown]
    assert len(lines) > 10
    result = CliRunner().invoke(main, [words[0], str(recording), *words[1:]])
    printed = iter([line.strip() for line in result.stdout.split("\n")])
    for line in lines:
        assert line == "…" or line in printed  # "in" goes on behind the line before
