"""fio's latency logs (``write_lat_log``): ``ms, ns, direction, block size, offset, …`` a line.

fio logs reads, writes and trims. The latencies of fsyncs are only in fio's JSON results.
"""

from __future__ import annotations

import re

import numpy as np

from rcp.analyzer.latencies.latency import Latencies, LatencyError, to_ns
from rcp.analyzer.latencies.rows import Piece, rows_of

DIRECTIONS = ("read", "write", "trim")
"""Indexed by enum fio_ddir."""

_TIME, _LATENCY, _DIRECTION, _BLOCK_SIZE = range(4)
_FIO_FIELD_COUNTS = range(4, 9)
_N_OF_HISTOGRAMS = 100  # write_hist_log has about 1200, one per bin
_HEXADECIMAL = re.compile(rb"0x[0-9a-fA-F]+")  # I/O priorities, which are not used

_FIO_LOG_REMEDY = "take a file that fio wrote with write_lat_log"


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
    )
