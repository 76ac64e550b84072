"""fio's latency logs (``write_lat_log``): ``ms, ns, direction, block size, offset, …`` a line.

fio logs reads, writes and trims. The latencies of fsyncs are only in fio's JSON results.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rcp.analyzer.latencies.declared import EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.latency import Latencies, LatencyError, fail, to_ns
from rcp.analyzer.latencies.rows import Piece, rows_of

DIRECTIONS = ("read", "write", "trim")
"""Indexed by enum fio_ddir."""

_TIME, _LATENCY, _DIRECTION, _BLOCK_SIZE = range(4)
_FIO_FIELD_COUNTS = range(4, 9)
_OLD_FIELD_COUNT = 4
_OLD = "{}: lines of 4 fields, as of old versions of fio: read as ns, but fio 2 wrote µs"
_N_OF_HISTOGRAMS = 100  # write_hist_log has about 1200, one per bin
_HEXADECIMAL = re.compile(rb"0x[0-9a-fA-F]+")  # I/O priorities, which are not used

_FIO_LOG_REMEDY = "take a file that fio wrote with write_lat_log"


_LOG_NAME = re.compile(r".*_(lat|clat|slat|clat_hist|bw|iops)(?:\.\d+)?\.log")
"""fio's names of logs: the prefix it was given, what is logged, the number of the thread."""

_NOT_LATENCIES = {
    "slat": "times to submit",
    "clat_hist": "histograms over time",
    "bw": "bandwidth",
    "iops": "numbers of I/Os",
}


def latency_logs(paths: Sequence[Path]) -> list[Path]:
    """Return files without the logs that fio wrote of the same I/Os beside their latencies.

    Total latencies are taken, or else completion latencies. Raises LatencyError if only logs of
    something else are left.
    """
    logged = {path: match[1] for path in paths if (match := _LOG_NAME.fullmatch(path.name))}
    best = next((name for name in ("lat", "clat") if name in logged.values()), "")
    others = [path for path in paths if path not in logged]
    if logged and not best and not others:
        path, name = next(iter(logged.items()))
        fail(
            path,
            f"holds {_NOT_LATENCIES[name]}, not latencies",
            "take fio's --output-format=json+, or let it log with write_lat_log",
        )
    return [path for path in paths if logged.get(path, best) == best]


def is_fio_log(head: bytes) -> bool:
    """Whether the head of a file is in this format."""
    line, newline, _ = head.partition(b"\n")
    fields = [field.strip() for field in line.split(b",")]
    if not newline:  # the head ends inside the line
        fields.pop()
    return (len(fields) in _FIO_FIELD_COUNTS or len(fields) > _N_OF_HISTOGRAMS) and all(
        field.isdigit() or _HEXADECIMAL.fullmatch(field) for field in fields
    )


def parse(piece: Piece) -> Latencies:
    """Return the latencies of whole lines; raise LatencyError."""
    if b"0x" in piece.data:
        plain = _HEXADECIMAL.sub(b"0", piece.data)
        piece = Piece(piece.source, plain, piece.first_line)
    if piece.data.partition(b"\n")[0].count(b",") > _N_OF_HISTOGRAMS:
        raise LatencyError(
            f"{piece.source} holds histograms over time, not latencies: "
            "take fio's --output-format=json+, or let it log with write_lat_log."
        )
    rows = rows_of(piece, b",", _FIO_LOG_REMEDY)
    if rows.shape[1] not in _FIO_FIELD_COUNTS:
        piece.fail(0, f"has {rows.shape[1]} fields", _FIO_LOG_REMEDY)
    directions = rows[:, _DIRECTION]
    odd = np.flatnonzero((directions < 0) | (directions >= len(DIRECTIONS)))
    if len(odd):
        piece.fail(int(odd[0]), "has no data direction of fio (0, 1, 2)", _FIO_LOG_REMEDY)
    if not rows[:, _BLOCK_SIZE].all():
        raise LatencyError(
            f"{piece.source} holds averages, not latencies: let fio log every I/O, "
            "without log_avg_msec."
        )
    latencies = to_ns(rows[:, _LATENCY].astype(np.float64), 1, piece.source)
    ends_s = rows[:, _TIME] / 1e3
    return Latencies(
        piece.source,
        {
            DIRECTIONS[number]: latencies[directions == number]
            for number in np.unique(directions).tolist()
        },
        interval_s=(float(ends_s.min()), float(ends_s.max())),
        warnings=(_OLD.format(piece.source),) if rows.shape[1] == _OLD_FIELD_COUNT else (),
    )


FIO_LOG_FORMAT = Format(
    "fio-log",
    by_head(is_fio_log),
    "ns",
    (
        Form(
            "`NAME_lat.1.log`",
            "read, write, trim",
            "with offload and a rate; the log does not say so",
            EVERYTHING,
            whole=Whole.LINE,
        ),
    ),
    "fio 3",
    start=lambda source, unit: parse,
    of_prefix="_lat.*log",
)
