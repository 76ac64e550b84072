"""One recording by kind of request: counts, latencies, wait reasons and culprits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.answer import delayed_share

QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))

Key = tuple[str, str]
"""Name and role of a kind of request."""


class Side(NamedTuple):
    """One recording."""

    name: str
    dur_ns: int
    """From its first event to its last one."""
    recorded_share: float
    """Share of sleeps and ios that was not lost, 0 to 1."""


class Load(NamedTuple):
    """Number and total time of one kind of request in a recording."""

    n: int
    per_s: float
    total_ns: int
    max_ns: int


class Delayed(NamedTuple):
    """The requests of a kind that inversions delayed, as a report's first line counts them."""

    n: int
    share: float
    """Share of their own time that inversions took, 0 to 1."""


class Tally(NamedTuple):
    """Count and total time of one cause in one recording."""

    n: int
    dur_ns: int


class KindSummary(NamedTuple):
    """One kind of request in one recording, with causes by reason, culprit or pattern."""

    load: Load
    quantiles_ns: list[int]
    """At QUANTILES."""
    reasons: Mapping[str, Tally]
    culprits: Mapping[str, Tally]
    patterns: Mapping[str, Tally]
    behind_ns: Mapping[str, int]
    """Time in inversions, by role of the culprit."""
    delayed: Delayed


_REASONS = "SELECT name, role, reason, n, dur FROM wait_by_kind"
_BEHIND = "SELECT name, role, culprit_role, sum(dur)::BIGINT FROM pattern_by_kind GROUP BY ALL"


@dataclass(frozen=True)
class Recording:
    """One recording, or a part of a fleet, by kind of request."""

    side: Side
    loads: Mapping[Key, Load]
    quantiles: Mapping[Key, list[int]]
    reasons: Mapping[Key, Mapping[str, Tally]]
    culprits: Mapping[Key, Mapping[str, Tally]]
    patterns: Mapping[Key, Mapping[str, Tally]]
    behind: Mapping[Key, Mapping[str, int]]
    delayed: Mapping[Key, Delayed]

    def of(self, key: Key) -> KindSummary:
        """Return one kind of request."""
        return KindSummary(
            load=self.loads[key],
            quantiles_ns=self.quantiles[key],
            reasons=self.reasons.get(key, {}),
            culprits=self.culprits.get(key, {}),
            patterns=self.patterns.get(key, {}),
            behind_ns=self.behind.get(key, {}),
            delayed=self.delayed.get(key, Delayed(0, 0.0)),
        )


def read_recording(store: Store, name: str) -> Recording:
    """Return a recording, called *name*, by kind of request."""
    dur_ns = extent(store).dur_ns
    seconds = max(dur_ns, 1) / 1e9
    latencies = store.query(query("by_kind/latencies"))
    behind: dict[Key, dict[str, int]] = {}
    for request, role, culprit_role, dur in store.query(_BEHIND):
        behind.setdefault((request, role), {})[culprit_role] = dur
    return Recording(
        side=Side(name, dur_ns, float(facts(store).get("recorded_share", 1))),
        loads={
            (request, role): Load(n, n / seconds, total, worst)
            for request, role, n, total, worst, _ in latencies
        },
        quantiles={(request, role): quantiles for request, role, _, _, _, quantiles in latencies},
        reasons=_by_kind(store, _REASONS),
        culprits=_by_kind(store, query("by_kind/culprits")),
        patterns=_by_kind(store, query("by_kind/patterns")),
        behind=behind,
        delayed={
            (request, role): Delayed(n, delayed_share(inverted_ns, delayed_ns))
            for request, role, n, inverted_ns, delayed_ns in store.query(query("by_kind/delayed"))
        },
    )


def _by_kind(store: Store, sql: str) -> dict[Key, dict[str, Tally]]:
    found: dict[Key, dict[str, Tally]] = {}
    for name, role, what, n, dur in store.query(sql):
        found.setdefault((name, role), {})[what] = Tally(n, dur)
    return found
