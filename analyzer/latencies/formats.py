"""The formats of latencies, in the order in which they are tried."""

from __future__ import annotations

from rcp.analyzer.latencies import columns, fio_json, fio_log, hdr, recording
from rcp.analyzer.latencies.declared import (
    AS_MEASURED,
    EVERYTHING,
    Form,
    Format,
    PieceParser,
    Whole,
    by_head,
)
from rcp.analyzer.latencies.generators import (
    http_summaries,
    http_tables,
    hyperfine,
    jmeter,
    k6,
    memtier,
    pgbench,
    redis,
    sysbench,
    vegeta,
    vegeta_report,
    wrk,
    ycsb,
)
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.lines import LineReader, is_lines
from rcp.analyzer.latencies.rows import Piece
from rcp.analyzer.latencies.telemetry import otlp, prometheus


def _start_lines(source: str, unit: str | None) -> PieceParser:
    reader = LineReader(source, unit)

    def parse(piece: Piece) -> Latencies:
        reader.feed(piece.data, piece.first_line)
        return reader.drain()

    return parse


_LINES = Format(
    "lines",
    by_head(is_lines),
    "beside each number, or not in the file",
    (
        Form(
            "one latency per line", "the word before it", AS_MEASURED, EVERYTHING, whole=Whole.LINE
        ),
    ),
    start=_start_lines,
    is_catch_all=True,
)

FORMATS = (
    recording.RECORDING_FORMAT,
    columns.PARQUET_FORMAT,
    fio_json.FIO_JSON_FORMAT,
    k6.K6_FORMAT,
    vegeta.VEGETA_FORMAT,
    vegeta_report.VEGETA_REPORT_FORMAT,
    wrk.WRK_FORMAT,
    http_summaries.BOMBARDIER_FORMAT,
    http_summaries.OHA_FORMAT,
    http_tables.HEY_FORMAT,
    ycsb.YCSB_FORMAT,
    jmeter.JMETER_FORMAT,
    hyperfine.HYPERFINE_FORMAT,
    otlp.OTLP_FORMAT,
    prometheus.PROMETHEUS_FORMAT,
    memtier.MEMTIER_FORMAT,
    sysbench.SYSBENCH_FORMAT,
    hdr.HDR_LOG_FORMAT,
    hdr.HGRM_FORMAT,
    redis.REDIS_FORMAT,
    pgbench.PGBENCH_FORMAT,
    fio_log.FIO_LOG_FORMAT,
    columns.JSON_LINES_FORMAT,
    columns.CSV_FORMAT,
    _LINES,
)
"""Formats that match lines of any program are last."""

BY_NAME = {known.name: known for known in FORMATS}
