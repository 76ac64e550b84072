"""pgbench's log of transactions (``pgbench -l``), one a line:

    client  transaction  µs  script  epoch s  µs of that s  [lag µs]  [retries]

With ``--rate`` a latency starts when the transaction was due, so it includes the lag.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from rcp.analyzer.latencies.declared import EVERYTHING, Form, Format, Whole, by_head
from rcp.analyzer.latencies.latency import Failures, Latencies, LatencyError, Times, to_ns
from rcp.analyzer.latencies.rows import Piece, rows_of

_TRANSACTION = "transaction"
"""Kind of the first script's transactions; those of the second are ``transaction2``."""

_TIME_US, _SCRIPT, _EPOCH_S, _EPOCH_US, _LAG_US = 2, 3, 4, 5, 6
_PGBENCH_FIELD_COUNTS = (6, 7, 8)
_EPOCH_MIN_S = 10**8  # 1973: larger than any number of clients or intervals

_LAG_US_MIN = 10
"""A column of lags has a median of about 50 µs, a column of retries one of 0."""

_NOT_TIMED = re.compile(rb"^(\d+ \d+) (skipped|failed|serialization|deadlock|other) ", re.MULTILINE)
_MARK_US = -(2**62)  # replaces the word, so that lines keep their columns and numbers
_REPORT = re.compile(rb"pgbench \(|progress: |transaction type: ")

_PGBENCH_REMEDY = "take a file that pgbench wrote with -l"


def is_pgbench(head: bytes) -> bool:
    """Whether a file with this head is from pgbench: its log, or other output."""
    fields = head.partition(b"\n")[0].split()
    return bool(_REPORT.match(head)) or _is_aggregate(fields) or _is_transaction(fields)


def _is_transaction(fields: list[bytes]) -> bool:
    return (
        len(fields) in _PGBENCH_FIELD_COUNTS
        and all(field.isdigit() for field in (*fields[:2], *fields[3:]))
        and fields[_TIME_US].isalnum()
        and int(fields[_EPOCH_S]) >= _EPOCH_MIN_S
    )


def _is_aggregate(fields: list[bytes]) -> bool:
    return len(fields) >= 6 and all(map(bytes.isdigit, fields)) and int(fields[0]) >= _EPOCH_MIN_S


def parse(piece: Piece) -> Latencies:
    """Return the latencies of whole lines; raise LatencyError."""
    first = piece.data.partition(b"\n")[0].split()
    if _REPORT.match(piece.data):
        raise LatencyError(f"{piece.source} is pgbench's report, not its log: {_PGBENCH_REMEDY}.")
    if _is_aggregate(first):
        raise LatencyError(
            f"{piece.source} holds sums over intervals, not latencies: "
            "let pgbench log without --aggregate-interval."
        )
    words = [word for _, word in _NOT_TIMED.findall(piece.data)]
    if words:
        data = _NOT_TIMED.sub(rb"\1 %d " % _MARK_US, piece.data)
        piece = Piece(piece.source, data, piece.first_line)
    rows = rows_of(piece, b" ", _PGBENCH_REMEDY)
    if rows.shape[1] not in _PGBENCH_FIELD_COUNTS:
        piece.fail(0, f"has {rows.shape[1]} fields", _PGBENCH_REMEDY)
    if words:
        rows = rows[rows[:, _TIME_US] != _MARK_US]
    n_skipped = words.count(b"skipped")
    n_failed = len(words) - n_skipped
    found = Latencies(
        piece.source,
        warnings=_warnings(piece.source, n_failed, n_skipped),
        failures=Failures(n_failed, len(rows) + n_failed),
    )
    return _timed(found, rows) if len(rows) else found


def _timed(found: Latencies, rows: Times) -> Latencies:
    times, scripts = rows[:, _TIME_US], rows[:, _SCRIPT]
    latencies = to_ns(times.astype(np.float64), 1000, found.source)
    ends_us = rows[:, _EPOCH_S] * 1_000_000 + rows[:, _EPOCH_US]
    return replace(
        found,
        by_kind={
            f"{_TRANSACTION}{number + 1 if number else ''}": latencies[scripts == number]
            for number in np.unique(scripts).tolist()
        },
        open_loop=_open_loop(rows),
        interval_s=(float((ends_us - times).min()) / 1e6, float(ends_us.max()) / 1e6),
    )


def _open_loop(rows: Times) -> bool | None:
    """Whether there was a schedule: a seventh column is its lag, or a number of retries."""
    n_columns = rows.shape[1]
    if n_columns != _LAG_US + 1:
        return bool(n_columns > _LAG_US)
    lags = rows[:, _LAG_US]
    if not lags.any():
        return False
    median_us = float(np.median(lags))
    return True if median_us >= _LAG_US_MIN else None


def _warnings(source: str, n_failed: int, n_skipped: int) -> tuple[str, ...]:
    found = []
    if n_skipped:
        found.append(
            f"{source}: {n_skipped} transactions were skipped because they were late: "
            "the true tail is longer"
        )
    if n_failed:
        found.append(f"{source}: {n_failed} transactions failed and were not timed")
    return tuple(found)


PGBENCH_FORMAT = Format(
    "pgbench",
    by_head(is_pgbench),
    "µs",
    (
        Form(
            "`pgbench -l`: `pgbench_log.PID`",
            "transaction, transaction2 …",
            "with `--rate`",
            EVERYTHING,
            "`failed` and the like in place of a time",
            Whole.LINE,
        ),
    ),
    start=lambda source, unit: parse,
    of_prefix=".[0-9]*",
)
