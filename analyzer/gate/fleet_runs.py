"""The hosts of a part of a fleet as runs: each host is a run, for its requests are alike.

rcp-trace gate '/srv/fleet?day=2026-01-31' --baseline '/srv/fleet?day=2026-01-30'
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from rcp.analyzer.compare.by_kind import Tally
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.fleet import slices
from rcp.analyzer.fleet.catalog import Catalog, Summary, check_any, read_catalog
from rcp.analyzer.fleet.differ import part
from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.histogram import upper_ns
from rcp.analyzer.fleet.layout import ROOT
from rcp.analyzer.fleet.place import is_url, opened
from rcp.analyzer.gate.causes import GROUPINGS, Around, Window, Windows, places
from rcp.analyzer.gate.host import CLOCK, VIRTUAL
from rcp.analyzer.latencies.latency import Histogram, Latencies, LatencyError

_MARK = "?"
_ONE_CPU = ("SET threads = 1",)
_GROUPING_OF = {"wait": "reason", "culprit": "culprit", "pattern": "pattern"}
"""Parts of a summary, and the groupings of causes that they are."""

Rows = Mapping[str, npt.NDArray[Any]]


class HostRun(NamedTuple):
    """One host of a part of a fleet."""

    latencies: Latencies
    facts: dict[str, str]
    lost_ppm: float
    causes: Windows
    incomplete: str


def is_fleet(word: str) -> bool:
    """Tell whether a word names a fleet, or a part of one: ``/srv/fleet?day=2026-01-31``."""
    folder = word.partition(_MARK)[0]
    return is_url(folder) or (Path(folder) / ROOT).is_dir()


def fleet_runs(word: str) -> list[HostRun]:
    """Return the hosts of a part of a fleet, by name; raise LatencyError."""
    folder, _, text = word.partition(_MARK)
    try:
        wanted = slices.parse(text)
        with opened(folder, wanted.day) as listing:
            catalog = part(read_catalog(listing), wanted)
            check_any(catalog, text or slices.ALL_DAYS)
            return list(_runs(catalog, word))
    except (FleetError, StoreError) as error:
        raise LatencyError(str(error)) from error


def _runs(catalog: Catalog, word: str) -> Iterator[HostRun]:
    left_out = [*catalog.failed, *catalog.other_schema]
    warnings = tuple(f"{word}: {one.place} was left out: {one.why}" for one in left_out)
    by_host: dict[str, list[Summary]] = {}
    for one in catalog.summaries:
        by_host.setdefault(one.header.host, []).append(one)
    for host in sorted(by_host):
        yield _run(f"{word} {host}", by_host[host], warnings, is_kept=not is_url(word))
        warnings = ()


def _run(
    name: str, summaries: Sequence[Summary], warnings: tuple[str, ...], *, is_kept: bool
) -> HostRun:
    headers = [one.header for one in summaries]
    paths = [str(one.entry.path) for one in summaries]
    with Store.create(None, name, _ONE_CPU) as store:
        rows = store.arrays(query("fleet/host_rows"), [paths])
    if not len(rows["n"]):
        raise LatencyError(
            f"{name} has no finished foreground requests: leave the host out, or record longer."
        )

    def windows(asked: Sequence[Around]) -> list[Window | None]:
        # Copies of an object store's files are gone by now.
        return [_window(paths, rows, one) if is_kept else None for one in asked]

    found = _latencies(name, rows, warnings)
    lost = sum(header.n_requests_lost for header in headers)
    facts = {CLOCK: VIRTUAL if all(header.is_virtual for header in headers) else "hardware"}
    incomplete = next((header.incomplete for header in headers if header.incomplete), "")
    return HostRun(found, facts, 1e6 * lost / max(lost + found.n, 1), windows, incomplete)


def _histogram(rows: Rows, chosen: npt.NDArray[np.bool_]) -> Histogram:
    """Return the histogram of some rows; a bucket's bounds are whole, as latencies are."""
    bucket, place = np.unique(rows["bucket"][chosen].astype(np.int64), return_inverse=True)
    n = np.zeros(len(bucket), np.int64)
    np.add.at(n, place, rows["n"][chosen])
    upper = np.floor([upper_ns(one) for one in bucket]).astype(np.int64)
    lower = np.minimum(np.floor([upper_ns(one - 1) for one in bucket]).astype(np.int64) + 1, upper)
    upper[-1] = min(upper[-1], int(rows["max_ns"][chosen].max()))
    return Histogram(upper, np.cumsum(n), np.minimum(lower, upper))


def _latencies(name: str, rows: Rows, warnings: tuple[str, ...]) -> Latencies:
    kinds = sorted(set(rows["kind"]))
    outermost = rows["is_outermost"].astype(bool)
    nested = None if outermost.all() else _histogram(rows, outermost).each()
    return Latencies(
        name,
        histograms={kind: _histogram(rows, rows["kind"] == kind) for kind in kinds},
        warnings=warnings,
        outermost=nested,
    )


def _window(paths: Sequence[str], rows: Rows, around: Around) -> Window | None:
    """Return what requests around a quantile (or in its tail) waited for: of whole buckets."""
    kind, share, is_tail = around
    chosen = rows["kind"] == kind if kind else rows["is_outermost"].astype(bool)
    if not chosen.any():
        return None
    order = np.argsort(rows["bucket"][chosen], kind="stable")
    buckets, cumulative = rows["bucket"][chosen][order], np.cumsum(rows["n"][chosen][order])
    first, last = (
        int(buckets[np.searchsorted(cumulative, at)])
        for at in places(int(cumulative[-1]), share, is_tail)
    )
    groups: dict[str, dict[str, Tally]] = {by: {} for by in GROUPINGS}
    n = total_ns = 0
    with Store.create(None, "a part of a fleet", _ONE_CPU) as store:
        found = store.query(query("fleet/window"), [list(paths), kind, first, last])
    for of_part, what, count, ns in found:
        if of_part == "request":
            n, total_ns = count, ns
        else:
            groups[_GROUPING_OF[of_part]][what] = Tally(count, ns)
    return Window(n, total_ns, groups["reason"], groups["culprit"], groups["pattern"])
