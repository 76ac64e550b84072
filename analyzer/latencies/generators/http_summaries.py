"""JSON summaries of HTTP load generators, which have quantiles: bombardier's in us, oha's in s."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from rcp.analyzer.latencies.declared import CLOSED, Form, Format, by_head
from rcp.analyzer.latencies.document import head_of, json_of
from rcp.analyzer.latencies.generators.http_tables import OHA_FORM, is_oha_table
from rcp.analyzer.latencies.generators.http_tables import read as read_table
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Points, fail
from rcp.analyzer.latencies.lines import NO_KIND

Json = Mapping[str, Any]
_OK, _BAD = 200, 400
_DEADLINE = "aborted due to deadline"
"""oha stops requests at the end of its time: these did not fail."""


class _Summary(NamedTuple):
    quantiles: Mapping[str, float]
    longest: float
    failures: Failures
    n_timed: int
    """How many requests its quantiles are from: those without an answer are not timed."""
    n_lost: int = 0
    open_loop: bool | None = None


@dataclass(frozen=True)
class _Program:
    name: str
    start: re.Pattern[bytes]
    unit_ns: float
    summary: Callable[[Json], _Summary]
    every: str
    """How the program writes every latency; "" if it does not."""


def _bombardier(document: Json) -> _Summary:
    result = document["result"]
    counts = {n: int(result.get(f"req{n}xx", 0)) for n in range(1, 6)}
    n = sum(counts.values()) + int(result.get("others", 0))
    latency = result["latency"]
    failures = Failures(n - counts[2] - counts[3], n)
    # A rate delays requests; it times them from when they were sent.
    is_open = None if "rate" in document["spec"] else False
    return _Summary(latency.get("percentiles", {}), latency["max"], failures, n, open_loop=is_open)


def _oha(document: Json) -> _Summary:
    codes = {int(code): int(n) for code, n in document["statusCodeDistribution"].items()}
    errors = document.get("errorDistribution", {})
    n_lost = sum(int(n) for told, n in errors.items() if told != _DEADLINE)
    n_refused = sum(n for code, n in codes.items() if not _OK <= code < _BAD)
    n = sum(codes.values())
    quantiles = {name.removeprefix("p"): v for name, v in document["latencyPercentiles"].items()}
    longest = document["summary"]["slowest"]
    return _Summary(quantiles, longest, Failures(n_refused + n_lost, n + n_lost), n, n_lost)


_PROGRAMS = (
    _Program("bombardier", re.compile(rb'\{\s*"spec":\s*\{\s*"numberOf'), 1e3, _bombardier, ""),
    _Program(
        "oha",
        re.compile(rb'\{\s*"summary":\s*\{\s*"successRate":'),
        1e9,
        _oha,
        "; --output-format csv writes every latency",
    ),
)


def is_bombardier(head: bytes) -> bool:
    """Whether a file with this head is bombardier's JSON."""
    return _PROGRAMS[0].start.search(head) is not None


def is_oha(head: bytes) -> bool:
    """Whether a file with this head is oha's JSON."""
    return _PROGRAMS[1].start.search(head) is not None


def read(path: Path) -> Latencies:
    """Return the quantiles of a summary; raise LatencyError."""
    program = next(one for one in _PROGRAMS if one.start.search(head_of(path)))
    try:
        found = program.summary(json_of(path, program.start, program.name))
        if not found.n_timed:
            found.failures.check_some(path)
        by_share = {
            round(float(name) / 100, 6): round(float(value) * program.unit_ns)
            for name, value in found.quantiles.items()
            if value is not None
        }
        by_share[1.0] = round(float(found.longest) * program.unit_ns)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise LatencyError(
            f"{path} is not a whole result of {program.name}: it was killed; run it again."
        ) from None
    if not found.quantiles:
        fail(path, "has no quantiles", "run bombardier with -l")
    return Latencies(
        str(path),
        points={NO_KIND: Points(by_share, found.n_timed)},
        open_loop=found.open_loop,
        warnings=(
            f"{path}: quantiles only{program.every}",
            *_failures(path, found),
        ),
        failures=found.failures,
    )


def _failures(path: Path, found: _Summary) -> tuple[str, ...]:
    timed = Failures(found.failures.n_failed - found.n_lost, found.n_timed)
    told = f"{path}: {found.n_lost} requests got no answer and were not timed"
    return (*timed.warning(path), *((told,) if found.n_lost else ()))


BOMBARDIER_FORMAT = Format(
    "bombardier",
    by_head(is_bombardier),
    "µs",
    (Form("`-l -o json -p r`", "–", CLOSED, "p50, p90, p95, p99 and max", "the status"),),
    read=lambda path, name, unit: read(path),
)


def _oha_of(path: Path, column: str) -> Latencies:
    if is_oha_table(head_of(path)):
        return read_table(path, column)
    if column:
        raise LatencyError(f"{path}:{column}: oha's JSON has no columns to name: write {path}.")
    return read(path)


OHA_FORMAT = Format(
    "oha",
    by_head(is_oha, is_oha_table),
    "s",
    (
        OHA_FORM,
        Form(
            "`--output-format json`",
            "–",
            "the same",
            "p50, p90, p95, p99, p99.9, p99.99 and max",
            "the status, errors",
        ),
    ),
    read=lambda path, name, unit: _oha_of(path, name),
    takes_column=True,
)
