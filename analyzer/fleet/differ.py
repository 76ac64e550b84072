"""What changed between two parts of a fleet: two days, two kernels, two sets of hosts.

Everything is per request, as between two recordings (``compare.diff``). A host got worse if more of
its requests are slow than before, by the limit of part A.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.compare.by_kind import QUANTILES, Delayed, Key, Load, Recording, Side, Tally
from rcp.analyzer.compare.diff import Diff, compared
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.fleet.catalog import Catalog, Coverage, Summary, check_any, coverage
from rcp.analyzer.fleet.histogram import quantile_ns
from rcp.analyzer.fleet.losses import recorded_share
from rcp.analyzer.fleet.merge import (
    Merged,
    merged,
    merged_in,
    opened_requests,
    read_tails,
    retrying,
)
from rcp.analyzer.fleet.report import BEYOND_MIN, TIMES_MIN, slow_buckets
from rcp.analyzer.fleet.slices import FleetSlice
from rcp.analyzer.reports.answer import delayed_share


class WorseHost(NamedTuple):
    """A host of which more requests are slow than before."""

    host: str
    kind: str
    a_n: int
    b_n: int
    a_share: float
    """Of its requests in A, those in or beyond the bucket of A's p99."""
    b_share: float
    culprit: str
    """What delayed its slow requests in B most; "" if nothing did."""


class FleetDiff(NamedTuple):
    """The comparison of two parts of a fleet."""

    diff: Diff
    a_coverage: Coverage
    b_coverage: Coverage
    hosts: list[WorseHost]


def part(catalog: Catalog, wanted: FleetSlice) -> Catalog:
    """Return the catalog of a part; what could not be read may belong to any part."""
    chosen = [one for one in catalog.summaries if wanted.has(one.header)]
    return Catalog(
        f"{catalog.name} ({wanted.text})",
        chosen,
        list(catalog.failed),
        list(catalog.other_schema),
        [one for one in catalog.duplicates if wanted.day is None or wanted.day in one.place],
    )


class _Side(NamedTuple):
    recording: Recording
    hosts: Mapping[tuple[str, str], tuple[int, int]]
    """Requests and slow ones by host and kind."""


def fleet_diff(
    catalog: Catalog, parts: tuple[FleetSlice, FleetSlice], expected: Sequence[str] | None = None
) -> FleetDiff:
    """Compare two parts of a fleet; raise FleetError, or DiffError if they have no common kind."""
    a, b = (part(catalog, wanted) for wanted in parts)
    for one, wanted in ((a, parts[0]), (b, parts[1])):
        check_any(one, wanted.text)
    a_merged = retrying(a, lambda: merged(a.summaries, _all))
    slow = slow_buckets(a_merged)
    a_side = retrying(a, lambda: _side(a, slow))
    b_side = retrying(b, lambda: _side(b, slow))
    return FleetDiff(
        compared(a_side.recording, b_side.recording),
        coverage(a, expected),
        coverage(b, expected),
        retrying(b, lambda: _worse(a_side, b_side, b, slow)),
    )


def _all(_: Summary) -> str:
    return ""


def _side(catalog: Catalog, slow: Mapping[str, int]) -> _Side:
    check_any(catalog)
    with opened_requests(catalog.summaries, _all) as store:
        found = merged_in(store)
        # A kind that A does not have has no limit of A's.
        kinds = {**slow_buckets(found), **slow}
        read_tails(store, catalog.summaries, kinds, patterns=True)
        tallies = store.query(query("fleet/tallies"))
        hosts = {(host, kind): (n, n_slow) for host, kind, n, n_slow in _hosts(store)}
    return _Side(_recording(catalog, found, tallies), hosts)


def _hosts(store: Store) -> list[tuple[str, str, int, int]]:
    return [(host, kind, n, slow) for host, kind, n, slow in store.query(query("fleet/hosts"))]


def _recording(
    catalog: Catalog, found: Merged, tallies: Sequence[tuple[str, str, str, str, int, int]]
) -> Recording:
    headers = [one.header for one in catalog.summaries]
    dur_ns = sum(header.dur_ns for header in headers)
    by_part: dict[str, dict[Key, dict[str, Tally]]] = {"wait": {}, "culprit": {}, "pattern": {}}
    behind: dict[Key, dict[str, int]] = {}
    for of_part, kind, role, what, n, blocked_ns in tallies:
        key = (kind, "foreground")
        before = by_part[of_part].setdefault(key, {}).get(what, Tally(0, 0))
        by_part[of_part][key][what] = Tally(before.n + n, before.dur_ns + blocked_ns)
        if of_part == "culprit":
            behind.setdefault(key, {})[role] = behind.get(key, {}).get(role, 0) + blocked_ns
    keyed = {(kind, role): one for (_, kind, role), one in found.by_key.items()}
    seconds = max(dur_ns, 1) / 1e9
    return Recording(
        side=Side(catalog.name, dur_ns, recorded_share(headers)),
        loads={
            key: Load(one.total.n, one.total.n / seconds, one.total.dur_ns, one.buckets.max_ns)
            for key, one in keyed.items()
        },
        quantiles={
            key: [round(quantile_ns(one.buckets, share)) for _, share in QUANTILES]
            for key, one in keyed.items()
        },
        reasons=by_part["wait"],
        culprits=by_part["culprit"],
        patterns=by_part["pattern"],
        behind=behind,
        delayed={
            key: Delayed(
                one.total.n_blocked,
                delayed_share(one.total.blocked_ns, one.total.blocked_dur_ns),
            )
            for key, one in keyed.items()
            if one.total.n_blocked
        },
    )


def _worse(a: _Side, b: _Side, b_catalog: Catalog, slow: Mapping[str, int]) -> list[WorseHost]:
    found: list[tuple[float, str, str]] = []
    for (host, kind), (n, n_slow) in b.hosts.items():
        if (host, kind) not in a.hosts or kind not in slow or n_slow < BEYOND_MIN:
            continue
        a_n, a_slow = a.hosts[host, kind]
        if n_slow / n >= TIMES_MIN * a_slow / a_n:
            found.append((n_slow - n * a_slow / a_n, host, kind))
    found.sort(key=lambda row: (-row[0], row[1:]))
    names = sorted({host for _, host, _ in found})
    if not names:
        return []
    of_hosts = [one for one in b_catalog.summaries if one.header.host in names]
    with opened_requests(of_hosts, _all) as store:
        read_tails(store, of_hosts, slow)
        culprits = {
            (host, kind): what
            for host, kind, what in store.query(query("fleet/host_culprits"), [names])
        }
    rows = []
    for _, host, kind in found:
        (a_n, a_slow), (b_n, b_slow) = a.hosts[host, kind], b.hosts[host, kind]
        what = culprits.get((host, kind), "")
        rows.append(WorseHost(host, kind, a_n, b_n, a_slow / a_n, b_slow / b_n, what))
    return rows
