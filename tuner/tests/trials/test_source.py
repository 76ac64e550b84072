"""The words of --source: where a workload leaves its latencies."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.tuner.trials.source import Source, SourceError, parse_source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("lines", Source()),
        ("lines:us", Source(unit="us")),
        ("{out}/x.log", Source("{out}/x.log")),
        ("fio-log:{out}/x", Source("{out}/x", "fio-log")),
        ("lines:{out}/x", Source("{out}/x", "lines")),
        ("./a:b", Source("./a:b")),
        ("hgrm:ms:{out}/x", Source("{out}/x", "hgrm", "ms")),
        ("csv:{out}/x.csv:latency_us", Source("{out}/x.csv:latency_us", "csv")),
        ("csv:ms:x.csv:latency", Source("x.csv:latency", "csv", "ms")),
    ],
)
def test_a_source_is_lines_or_a_file(text: str, expected: Source) -> None:
    assert parse_source(text) == expected


def test_a_word_may_name_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latencies").touch()
    assert parse_source("latencies") == Source("latencies")
    assert parse_source("latencies:column") == Source("latencies:column")
    Path("run:1").touch()
    assert parse_source("run:1") == Source("run:1")


@pytest.mark.parametrize(
    ("text", "fault", "remedy"),
    [
        ("recordng", "unknown --source recordng", "write recording, lines, or FORMAT:FILE with"),
        ("pgbench", "unknown --source pgbench", "write recording, lines, or FORMAT:FILE with"),
        ("fio_log:{out}/x", "unknown format 'fio_log' in --source fio_log:{out}/x", "write one of"),
        (
            "pgbnch:log",
            "unknown format 'pgbnch' in --source pgbnch:log",
            "write one of bombardier, ",
        ),
        ("lines:sec", "unknown unit 'sec' in --source lines:sec", "write one of ns, us, ms, s, or"),
    ],
)
def test_a_typo_is_no_file(text: str, fault: str, remedy: str) -> None:
    with pytest.raises(SourceError) as error:
        parse_source(text)
    told = str(error.value)
    assert told.startswith(f"{fault}: {remedy}")
    assert told.endswith(" for a file of that name.")
    path = told.removesuffix(" for a file of that name.").rpartition(" or ")[2]
    assert parse_source(path).path.startswith("./")


def test_a_word_longer_than_any_file_name_is_a_typo() -> None:
    with pytest.raises(SourceError, match=r"^unknown --source a+: write recording"):
        parse_source("a" * 300)


@pytest.mark.parametrize("text", ["", "fio-log:", "hgrm:ms:"])
def test_a_source_has_a_name(text: str) -> None:
    with pytest.raises(SourceError) as error:
        parse_source(text)
    assert str(error.value) == (
        "the source of latencies is empty: write lines, or the path of a file."
    )
