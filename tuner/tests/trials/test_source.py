"""The words of --source: where a workload leaves its latencies."""

from __future__ import annotations

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
        ("a:b", Source("a:b")),
        ("hgrm:ms:{out}/x", Source("{out}/x", "hgrm", "ms")),
        ("csv:{out}/x.csv:latency_us", Source("{out}/x.csv:latency_us", "csv")),
        ("csv:ms:x.csv:latency", Source("x.csv:latency", "csv", "ms")),
    ],
)
def test_a_source_is_lines_or_a_file(text: str, expected: Source) -> None:
    assert parse_source(text) == expected


@pytest.mark.parametrize("text", ["", "fio-log:", "hgrm:ms:"])
def test_a_source_has_a_name(text: str) -> None:
    with pytest.raises(SourceError) as error:
        parse_source(text)
    assert str(error.value) == (
        "the source of latencies is empty: write lines, or the path of a file."
    )
