"""What the programs in fixtures/latencies wrote, for tests to read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.slo import Measured, measure, parse

FILES = Path(__file__).parents[3] / "fixtures/latencies"


def value_ns(latencies: Latencies, text: str) -> int:
    """Return what the SLO *text* bounds."""
    return measured(text, latencies).value_ns


def measured(text: str, latencies: Latencies) -> Measured:
    """Return the quantile that the SLO *text* bounds."""
    (slo,) = parse(text)
    return measure(slo, latencies)


def refusal(path: Path | str, unit: str | None = None) -> str:
    """Return why a file is not read."""
    with pytest.raises(LatencyError) as error:
        open_latencies(path, unit=unit)
    return str(error.value)


def rewritten(path: Path, separators: tuple[str, str]) -> str:
    """Return lines of JSON as another program writes them: members and spaces differ."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    changed = [dict(reversed(row.items())) for row in rows]
    return "".join(json.dumps(row, separators=separators) + "\n" for row in changed)
