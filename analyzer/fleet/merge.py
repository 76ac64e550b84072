"""Merges summaries by DuckDB: sums of integers, so any order and any tree gives the same.

The rows of one file that is damaged inside spoil a query over thousands. Then each file is read by
itself, those that cannot be are left out and named, and the query is asked again.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.fleet.catalog import Catalog, Summary
from rcp.analyzer.fleet.histogram import Buckets
from rcp.analyzer.fleet.listing import Failure

MEMORY = "600MB"
"""DuckDB writes to disk what needs more: a day of 10,000 hosts is to be merged in 1 GiB."""

_SCHEMA = (
    "CREATE TABLE one (summary_id BIGINT, host VARCHAR, part_of VARCHAR)",
    "CREATE TABLE requested (summary_id BIGINT, kind VARCHAR, role VARCHAR, is_outermost BOOLEAN, "
    "bucket INTEGER, n BIGINT, n_blocked BIGINT, dur_ns BIGINT, blocked_ns BIGINT, max_ns BIGINT)",
    "CREATE TABLE slow (kind VARCHAR, slow_bucket INTEGER)",
    "CREATE TABLE tail (summary_id BIGINT, part VARCHAR, kind VARCHAR, is_outermost BOOLEAN, "
    "reason VARCHAR, culprit VARCHAR, culprit_role VARCHAR, pattern VARCHAR, n BIGINT, "
    "n_slow BIGINT, blocked_ns BIGINT, slow_blocked_ns BIGINT)",
)

_READ_ALL = "SELECT bit_xor(hash(COLUMNS(*))) FROM read_parquet($1, hive_partitioning = false)"

PartOf = Callable[[Summary], str]
"""The group that a summary is counted in: its kernel, its host, …"""

Answer = TypeVar("Answer")


class Total(NamedTuple):
    """Requests of one kind and role, in sum."""

    n: int
    n_blocked: int
    dur_ns: int
    blocked_ns: int
    blocked_dur_ns: int
    """Latency of those that were delayed, to the width of a bucket."""


class Summed(NamedTuple):
    """Requests of one kind and role, or of one of their groups."""

    buckets: Buckets
    total: Total


Key = tuple[str, str, str]
"""Group, kind and role."""


@contextmanager
def opened_requests(summaries: Sequence[Summary], part_of: PartOf) -> Iterator[Store]:
    """Open a store in memory with the requests of summaries, which are known by their place."""
    with (
        tempfile.TemporaryDirectory(prefix="rcp-merge-") as folder,
        Store.create(None, "the fleet", _SCHEMA) as store,
    ):
        store.write(f"SET memory_limit = '{MEMORY}'")
        store.write(f"SET temp_directory = '{folder}'")
        store.write("SET preserve_insertion_order = false")
        store.write("SET enable_progress_bar = false")  # it would go to stdout, into the answer
        store.insert(
            {
                "one": {
                    "summary_id": np.arange(len(summaries)),
                    "host": [one.header.host for one in summaries],
                    "part_of": [part_of(one) for one in summaries],
                }
            }
        )
        store.write(query("fleet/requested"), [_paths(summaries)])
        yield store


def _paths(summaries: Sequence[Summary]) -> list[str]:
    return [str(one.entry.path) for one in summaries]


class Merged(NamedTuple):
    """The latencies of summaries."""

    by_key: dict[Key, Summed]
    """By group, kind and role; group "" holds all."""
    outermost: Total
    """Foreground requests that no request of another kind encloses."""


def merged_in(store: Store) -> Merged:
    """Return the latencies of the summaries that a store was opened with."""
    rows = store.arrays(query("fleet/histogram"))
    places: dict[Key, list[int]] = {}
    groups = zip(rows["part_of"], rows["kind"], rows["role"], strict=True)
    for at, (group, kind, role) in enumerate(groups):
        places.setdefault(("", kind, role), []).append(at)
        if group:
            places.setdefault((group, kind, role), []).append(at)
    whole = np.flatnonzero((rows["role"] == "foreground") & rows["is_outermost"].astype(bool))
    return Merged(
        {key: _latencies(rows, np.array(found)) for key, found in places.items()},
        _total(rows, whole),
    )


def merged(summaries: Sequence[Summary], part_of: PartOf) -> Merged:
    """Return the latencies of summaries."""
    with opened_requests(summaries, part_of) as store:
        return merged_in(store)


def _total(rows: Mapping[str, npt.NDArray[Any]], at: npt.NDArray[np.int64]) -> Total:
    names = ("n", "n_blocked", "dur_ns", "blocked_ns")
    sums = [int(rows[name][at].sum()) for name in names]
    mean_ns = rows["dur_ns"][at] / rows["n"][at]
    delayed_ns = round(float((mean_ns * rows["n_blocked"][at]).sum()))
    return Total(sums[0], sums[1], sums[2], sums[3], delayed_ns)


def _latencies(rows: Mapping[str, npt.NDArray[Any]], at: npt.NDArray[np.int64]) -> Summed:
    bucket, place = np.unique(rows["bucket"][at].astype(np.int64), return_inverse=True)
    n = np.zeros(len(bucket), np.int64)
    np.add.at(n, place, rows["n"][at])
    return Summed(Buckets(bucket, n, int(rows["max_ns"][at].max())), _total(rows, at))


_NO_PATTERNS = " AND part <> 'pattern'"


def read_tails(
    store: Store, summaries: Sequence[Summary], slow: Mapping[str, int], *, patterns: bool = False
) -> None:
    """Fill the table ``tail`` with the rows of all summaries, split at the bucket of each kind."""
    if not slow:
        return
    sql = query("fleet/tails")
    store.insert({"slow": {"kind": list(slow), "slow_bucket": list(slow.values())}})
    store.write(query("fleet/slow_requests"))
    store.write(sql.replace(_NO_PATTERNS, "") if patterns else sql, [_paths(summaries)])


def retrying(catalog: Catalog, ask: Callable[[], Answer]) -> Answer:
    """Return an answer from the summaries of a catalog, without those that are damaged inside."""
    while True:
        try:
            return ask()
        except StoreError:
            damaged = [
                Failure(one.entry.place, "its rows are damaged")
                for one in catalog.summaries
                if not _is_readable(one.entry.path)
            ]
            if not damaged:
                raise
            catalog.without(damaged)


def _is_readable(path: Path) -> bool:
    with Store.create(None, "a summary", _SCHEMA) as store:
        try:
            store.query(_READ_ALL, [str(path)])
        except StoreError:
            return False
    return True
