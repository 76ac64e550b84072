"""The formats of latencies, and how each is recognized and read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.latencies import columns, fio_json, fio_log, hdr, recording
from rcp.analyzer.latencies.generators import (
    hyperfine,
    jmeter,
    k6,
    pgbench,
    redis,
    vegeta,
    vegeta_report,
    wrk,
    ycsb,
)
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.lines import LineReader, is_lines
from rcp.analyzer.latencies.rows import Piece
from rcp.analyzer.latencies.telemetry import otlp, prometheus

PieceParser = Callable[[Piece], Latencies]
Look = Callable[[Path, bytes], bool]


@dataclass(frozen=True)
class Format:
    """How files of one format are recognized and read: in pieces while they grow, or whole.

    ``start`` takes the name of the source for messages and the unit of its numbers; ``read`` takes
    a path, the column and the unit. ``of_prefix`` is a shell pattern for the rest of the names of
    files whose prefix the program was given.
    """

    name: str
    looks_like: Look
    start: Callable[[str, str | None], PieceParser] | None = None
    read: Callable[[Path, str, str | None], Latencies] | None = None
    of_prefix: str = ""


def _by_head(is_one: Callable[[bytes], bool]) -> Look:
    return lambda path, head: is_one(head)


def _start_lines(source: str, unit: str | None) -> PieceParser:
    reader = LineReader(source, unit)

    def parse(piece: Piece) -> Latencies:
        reader.feed(piece.data, piece.first_line)
        return reader.drain()

    return parse


FORMATS = (
    Format(
        "recording",
        recording.is_recording,
        read=lambda path, column, unit: recording.read(path),
    ),
    Format("parquet", _by_head(columns.is_parquet), read=columns.read),
    Format(
        "fio-json",
        _by_head(fio_json.is_fio_json),
        read=lambda path, column, unit: fio_json.read(path),
    ),
    Format("k6", _by_head(k6.is_k6), read=k6.read),
    Format(
        "vegeta",
        _by_head(vegeta.is_vegeta),
        read=lambda path, column, unit: vegeta.read(path),
    ),
    Format(
        "vegeta-report",
        _by_head(vegeta_report.is_report),
        read=lambda path, column, unit: vegeta_report.read(path),
    ),
    Format(
        "wrk",
        _by_head(wrk.is_wrk),
        read=lambda path, column, unit: wrk.read(path),
    ),
    Format(
        "ycsb",
        _by_head(ycsb.is_ycsb),
        read=lambda path, column, unit: ycsb.read(path),
    ),
    Format(
        "jmeter",
        _by_head(jmeter.is_jmeter),
        read=lambda path, column, unit: jmeter.read(path, column),
    ),
    Format(
        "hyperfine",
        _by_head(hyperfine.is_hyperfine),
        read=lambda path, column, unit: hyperfine.read(path, column),
    ),
    Format("otlp", _by_head(otlp.is_otlp), read=otlp.read),
    Format("prometheus", _by_head(prometheus.is_prometheus), read=prometheus.read),
    Format(
        "hdr-log",
        _by_head(hdr.is_log),
        read=lambda path, column, unit: hdr.read_log(path, unit),
    ),
    Format(
        "hgrm",
        _by_head(hdr.is_hgrm),
        read=lambda path, column, unit: hdr.read_hgrm(path, unit),
    ),
    Format(
        "redis-benchmark",
        _by_head(redis.is_redis),
        read=lambda path, column, unit: redis.read(path),
    ),
    Format(
        "pgbench",
        _by_head(pgbench.is_pgbench),
        start=lambda source, unit: pgbench.parse,
        of_prefix=".[0-9]*",
    ),
    Format(
        "fio-log",
        _by_head(fio_log.is_fio_log),
        start=lambda source, unit: fio_log.parse,
        of_prefix="_lat.*log",
    ),
    Format("jsonl", _by_head(columns.is_json_lines), read=columns.read),
    Format("csv", columns.is_csv, read=columns.read),
    Format("lines", _by_head(is_lines), start=_start_lines),
)
"""In the order they are tried: formats that match lines of any program are last."""

BY_NAME = {known.name: known for known in FORMATS}
