"""One answer over many hosts: their latencies, culprits, and which hosts differ.

No mean of percentiles: a fleet's p99 is that of its merged histogram, and hosts are compared by how
many of their requests are beyond it. A host like the others has 1 % there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.fleet.catalog import Catalog, Coverage, Summary, check_any, coverage
from rcp.analyzer.fleet.groups import Group, Unit, compare_groups
from rcp.analyzer.fleet.histogram import quantile_bucket, quantile_ns
from rcp.analyzer.fleet.merge import (
    Merged,
    Total,
    merged,
    merged_in,
    opened_requests,
    read_tails,
    retrying,
)

QUANTILE_SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p99.9": 0.999, "max": 1.0}
SLOW = 0.99

BEYOND_MIN = 10
"""A host differs if at least so many requests are slow: with fewer, chance is enough."""

TIMES_MIN = 2
"""A host differs if at least so many times the others' share of its requests are slow."""

EXEMPLARS_SHOWN = 5


class RequestRow(NamedTuple):
    """Requests of one kind and role."""

    kind: str
    role: str
    n: int
    quantiles_ns: dict[str, float]


class WaitRow(NamedTuple):
    """Time of outermost foreground requests in one state or wait."""

    reason: str
    n: int
    blocked_ns: int
    share: float
    """Of all these requests' time."""
    slow_share: float
    """Of the slow ones' time."""


class CulpritRow(NamedTuple):
    """What one culprit did to outermost foreground requests by one kind of inversion."""

    culprit: str
    kind: str
    role: str
    n_hosts: int
    n: int
    blocked_ns: int
    share: float
    slow_share: float
    worst_host: str


class HostRow(NamedTuple):
    """A host that differs from the others."""

    host: str
    kind: str
    n: int
    n_slow: int
    share: float
    """Of its requests, those in or beyond the bucket of the fleet's p99."""
    others_share: float
    p99_ns: float
    culprit: str
    """What delayed its slow requests most; "" if nothing did."""


class WorstRow(NamedTuple):
    """One of the longest foreground requests of the fleet."""

    host: str
    recording: str
    kind: str
    request_id: int
    dur_ns: int
    blocked_ns: int
    culprit: str


class FleetReport(NamedTuple):
    """The answer over many hosts."""

    days: list[str]
    coverage: Coverage
    total: Total
    """Outermost foreground requests."""
    requests: list[RequestRow]
    waits: list[WaitRow]
    culprits: list[CulpritRow]
    hosts: list[HostRow]
    by: str
    """What groups of hosts are made by: kernel, rcp or machine."""
    groups: list[Group]
    worst: list[WorstRow]


def slow_buckets(found: Merged) -> dict[str, int]:
    """Return the bucket of the p99 of foreground requests, by kind."""
    return {
        kind: quantile_bucket(one.buckets, SLOW)
        for (group, kind, role), one in found.by_key.items()
        if not group and role == "foreground"
    }


def fleet_report(catalog: Catalog, by: str, expected: Sequence[str] | None = None) -> FleetReport:
    """Return the report of a catalog's summaries; raise FleetError if none can be read."""
    check_any(catalog)
    return retrying(catalog, lambda: _report(catalog, by, expected))


def _report(catalog: Catalog, by: str, expected: Sequence[str] | None) -> FleetReport:
    check_any(catalog)
    summaries = catalog.summaries

    def group_of(one: Summary) -> str:
        return str(getattr(one.header, by)) or "unknown"

    with opened_requests(summaries, group_of) as store:
        found = merged_in(store)
        read_tails(store, summaries, slow_buckets(found))
        waits, culprits = _waits(store), _culprits(store)
        hosts = differing(store, summaries)
        units = [Unit(*row) for row in store.query(query("fleet/units"))]
    return FleetReport(
        days=sorted({one.header.day for one in summaries}),
        coverage=coverage(catalog, expected),
        total=found.outermost,
        requests=_requests(found),
        waits=waits,
        culprits=culprits,
        hosts=hosts,
        by=by,
        groups=compare_groups(found, units),
        worst=_worst(summaries),
    )


def _requests(found: Merged) -> list[RequestRow]:
    rows = [
        RequestRow(
            kind,
            role,
            one.total.n,
            {name: quantile_ns(one.buckets, share) for name, share in QUANTILE_SHARES.items()},
        )
        for (group, kind, role), one in found.by_key.items()
        if not group
    ]
    return sorted(rows, key=lambda row: (row.role != "foreground", -row.n, row.kind, row.role))


def _waits(store: Store) -> list[WaitRow]:
    rows = store.query(query("fleet/waits"))
    all_ns = max(sum(row[2] for row in rows), 1)
    slow_ns = max(sum(row[3] for row in rows), 1)
    return [
        WaitRow(reason, n, blocked, blocked / all_ns, slow / slow_ns)
        for reason, n, blocked, slow in rows
    ]


def _culprits(store: Store) -> list[CulpritRow]:
    waits = store.query(query("fleet/waits"))
    all_ns = max(sum(row[2] for row in waits), 1)
    slow_ns = max(sum(row[3] for row in waits), 1)
    return [
        CulpritRow(culprit, kind, role, hosts, n, blocked, blocked / all_ns, slow / slow_ns, worst)
        for kind, culprit, role, hosts, n, blocked, slow, worst in store.query(
            query("fleet/culprits")
        )
    ]


class _HostCount(NamedTuple):
    host: str
    kind: str
    n: int
    n_slow: int


def differing(store: Store, summaries: Sequence[Summary]) -> list[HostRow]:
    """Return the hosts that differ from the others, those with most slow requests in excess first.

    A host is compared with the rest of the fleet, so that a large one is not compared with itself.
    """
    counts = store.rows(_HostCount, query("fleet/hosts"))
    all_n: dict[str, int] = {}
    all_slow: dict[str, int] = {}
    for one in counts:
        all_n[one.kind] = all_n.get(one.kind, 0) + one.n
        all_slow[one.kind] = all_slow.get(one.kind, 0) + one.n_slow
    found: list[tuple[float, _HostCount, float]] = []
    for one in counts:
        others_n = all_n[one.kind] - one.n
        if not others_n or one.n_slow < BEYOND_MIN:
            continue
        others = (all_slow[one.kind] - one.n_slow) / others_n
        if one.n_slow / one.n >= TIMES_MIN * others:
            found.append((one.n_slow - others * one.n, one, others))
    found.sort(key=lambda row: (-row[0], row[1]))
    return _with_details(store, summaries, [(one, others) for _, one, others in found])


HOSTS_MAX = 100
"""Hosts with details: the others that differ are fewer requests each."""


def _with_details(
    store: Store, summaries: Sequence[Summary], found: Sequence[tuple[_HostCount, float]]
) -> list[HostRow]:
    found = found[:HOSTS_MAX]
    names = {one.host for one, _ in found}
    if not names:
        return []
    culprits = {
        (host, kind): what
        for host, kind, what in store.query(query("fleet/host_culprits"), [sorted(names)])
    }
    own = merged(
        [one for one in summaries if one.header.host in names], lambda one: one.header.host
    )
    return [
        HostRow(
            one.host,
            one.kind,
            one.n,
            one.n_slow,
            one.n_slow / one.n,
            others,
            quantile_ns(own.by_key[one.host, one.kind, "foreground"].buckets, SLOW),
            culprits.get((one.host, one.kind), ""),
        )
        for one, others in found
    ]


def _worst(summaries: Sequence[Summary]) -> list[WorstRow]:
    rows = (
        WorstRow(
            header.host,
            header.recording,
            one.kind,
            one.request_id,
            one.dur_ns,
            one.blocked_ns,
            one.culprit,
        )
        for _, header in summaries
        for one in header.exemplars
    )
    return sorted(rows, key=lambda row: (-row.dur_ns, row))[:EXEMPLARS_SHOWN]
