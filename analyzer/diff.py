"""What changed between two recordings, for each kind of request both have.

Recordings differ in length and load, so nothing is compared in absolute terms: times are per
finished request of the kind, counts per 1000 of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.store import Store

QUANTILES = (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))

TAIL_MIN = 10
"""Requests that must lie above a quantile in both recordings for it to be compared: with fewer,
one request more or less moves it to another one's latency."""

BACKGROUND = "background"


class DiffError(Exception):
    """Two recordings cannot be compared; the message says why."""


class Side(NamedTuple):
    """One recording."""

    name: str
    dur_ns: int
    """From its first event to its last one."""
    recorded_share: float
    """Part of sleeps and ios that was not lost."""


class Load(NamedTuple):
    """How many requests of one kind a recording has, and their time."""

    n: int
    per_s: float
    total_ns: int
    max_ns: int


class Quantile(NamedTuple):
    """One quantile of the latency in both."""

    name: str
    a_ns: int
    b_ns: int
    ratio: float | None
    """b over a; None when it is not compared."""
    why_not: str
    """Why it is not compared, "" when it is."""


class Change(NamedTuple):
    """Time of one cause, per request, in both."""

    what: str
    """Reason, culprit or pattern."""
    a_ns: float
    b_ns: float
    delta_ns: float
    a_per_1000: float
    """Times (reasons), or requests held up (the others), per 1000 requests."""
    b_per_1000: float
    a_per_s: float
    b_per_s: float
    status: str
    """``new``, ``gone``, ``more``, ``less`` or ``same``."""


class Kind(NamedTuple):
    """Everything about one kind of request."""

    name: str
    role: str
    a: Load
    b: Load
    quantiles: list[Quantile]
    behind: str
    """Whose work ``a_behind`` and ``b_behind`` count."""
    a_behind: float
    """Part of the requests' time that inversions took, 0 to 1."""
    b_behind: float
    reasons: list[Change]
    culprits: list[Change]
    patterns: list[Change]


class Measured(NamedTuple):
    """One kind of request in one recording, with causes by reason, culprit or pattern."""

    load: Load
    quantiles_ns: list[int]
    """At QUANTILES."""
    reasons: Mapping[str, Found]
    culprits: Mapping[str, Found]
    patterns: Mapping[str, Found]
    behind_ns: Mapping[str, int]
    """What inversions took, by role of the culprits."""


class Diff(NamedTuple):
    """Everything a comparison shows."""

    a: Side
    b: Side
    kinds: list[Kind]
    only_in_a: list[str]
    """Kinds of request the other recording lacks."""
    only_in_b: list[str]


class Found(NamedTuple):
    """Counts and ns of one cause on one side."""

    n: int
    dur_ns: int


_Key = tuple[str, str]
"""Name and role of a kind of request."""

_LATENCIES = """
    SELECT request.name, role, count(*), sum(dur)::BIGINT, max(dur),
        [quantile_disc(dur, 0.5), quantile_disc(dur, 0.99), quantile_disc(dur, 0.999)]
    FROM request JOIN task USING (utid)
    WHERE dur IS NOT NULL
    GROUP BY ALL
"""

_REASONS = "SELECT name, role, reason, n, dur FROM wait_by_kind"

# Not a sum over patterns: a request may be held up by one culprit in several ways.
_CULPRITS = """
    SELECT name, task.role, kind || ' by ' || culprit, count(DISTINCT request_id),
        sum(inversion.dur)::BIGINT
    FROM inversion JOIN request USING (request_id) JOIN task USING (utid)
    GROUP BY ALL
"""

_PATTERNS = """
    SELECT name, role, pattern || ': ' || kind || ' by ' || culprit, n_requests, dur
    FROM pattern_by_kind
"""

_BEHIND = "SELECT name, role, culprit_role, sum(dur)::BIGINT FROM pattern_by_kind GROUP BY ALL"


class _Recording:
    """What is asked of one recording, by kind of request."""

    def __init__(self, store: Store, name: str) -> None:
        facts = dict(store.query("SELECT key, value FROM meta"))
        dur_ns = int(facts.get("last_event_ns", 0)) - int(facts.get("first_event_ns", 0))
        self.side = Side(name, dur_ns, float(facts.get("recorded_share", 1)))
        self.loads: dict[_Key, Load] = {}
        self.quantiles: dict[_Key, list[int]] = {}
        seconds = max(dur_ns, 1) / 1e9
        for request, role, n, total, worst, quantiles in store.query(_LATENCIES):
            self.loads[request, role] = Load(n, n / seconds, total, worst)
            self.quantiles[request, role] = quantiles
        self.reasons = _by_kind(store, _REASONS)
        self.culprits = _by_kind(store, _CULPRITS)
        self.patterns = _by_kind(store, _PATTERNS)
        self.behind: dict[_Key, dict[str, int]] = {}
        for request, role, culprit_role, dur in store.query(_BEHIND):
            self.behind.setdefault((request, role), {})[culprit_role] = dur

    def of(self, key: _Key) -> Measured:
        """Return one kind of request."""
        return Measured(
            load=self.loads[key],
            quantiles_ns=self.quantiles[key],
            reasons=self.reasons.get(key, {}),
            culprits=self.culprits.get(key, {}),
            patterns=self.patterns.get(key, {}),
            behind_ns=self.behind.get(key, {}),
        )


def _by_kind(store: Store, sql: str) -> dict[_Key, dict[str, Found]]:
    found: dict[_Key, dict[str, Found]] = {}
    for name, role, what, n, dur in store.query(sql):
        found.setdefault((name, role), {})[what] = Found(n, dur)
    return found


def _quantiles(a: Measured, b: Measured) -> list[Quantile]:
    fewest = min(a.load.n, b.load.n)
    found = []
    for at, (name, quantile) in enumerate(QUANTILES):
        a_ns, b_ns = a.quantiles_ns[at], b.quantiles_ns[at]
        needed = round(TAIL_MIN / (1 - quantile))
        why_not = f"needs {needed} requests" if fewest < needed else ""
        ratio = b_ns / a_ns if a_ns and not why_not else None
        found.append(Quantile(name, a_ns, b_ns, ratio, why_not))
    return found


def _status(a: Found, b: Found, delta_ns: float) -> str:
    if not a.n or not b.n:
        return "gone" if a.n else "new"
    if delta_ns == 0:
        return "same"
    return "more" if delta_ns > 0 else "less"


_NOTHING = Found(0, 0)


def changes(
    a: Mapping[str, Found], b: Mapping[str, Found], loads: tuple[Load, Load]
) -> list[Change]:
    """Return what is in either, the greatest change of time per request first."""
    a_load, b_load = loads
    found = []
    for what in {**a, **b}:
        of_a, of_b = a.get(what, _NOTHING), b.get(what, _NOTHING)
        a_ns, b_ns = of_a.dur_ns / a_load.n, of_b.dur_ns / b_load.n
        found.append(
            Change(
                what=what,
                a_ns=a_ns,
                b_ns=b_ns,
                delta_ns=b_ns - a_ns,
                a_per_1000=of_a.n * 1000 / a_load.n,
                b_per_1000=of_b.n * 1000 / b_load.n,
                a_per_s=of_a.n * a_load.per_s / a_load.n,
                b_per_s=of_b.n * b_load.per_s / b_load.n,
                status=_status(of_a, of_b, b_ns - a_ns),
            )
        )
    return sorted(found, key=lambda change: (-abs(change.delta_ns), -change.a_ns, change.what))


def between(name: str, role: str, a: Measured, b: Measured) -> Kind:
    """Compare requests called ``name`` of two recordings, each of which has some."""
    loads = (a.load, b.load)
    # Where no rule says what is background, every culprit counts.
    has_roles = BACKGROUND in a.behind_ns or BACKGROUND in b.behind_ns
    only_background = has_roles or not (a.behind_ns or b.behind_ns)

    def share(of: Measured) -> float:
        by_role = of.behind_ns
        ns = by_role.get(BACKGROUND, 0) if only_background else sum(by_role.values())
        return ns / of.load.total_ns if of.load.total_ns else 0.0

    return Kind(
        name=name,
        role=role,
        a=a.load,
        b=b.load,
        quantiles=_quantiles(a, b),
        behind="background" if only_background else "other work",
        a_behind=share(a),
        b_behind=share(b),
        reasons=changes(a.reasons, b.reasons, loads),
        culprits=changes(a.culprits, b.culprits, loads),
        patterns=changes(a.patterns, b.patterns, loads),
    )


def _told(keys: Sequence[_Key]) -> list[str]:
    return [f"{name} ({role})" for name, role in sorted(keys)]


def _check(a: _Recording, b: _Recording) -> None:
    if a.loads.keys() & b.loads.keys():
        return

    def has(recording: _Recording) -> str:
        kinds = ", ".join(_told(list(recording.loads))) or "no finished request"
        return f"{recording.side.name} has {kinds}"

    raise DiffError(
        f"there is nothing to compare, no kind of request is in both: {has(a)}; {has(b)}."
    )


def compare(a_store: Store, b_store: Store, names: tuple[str, str] = ("A", "B")) -> Diff:
    """Compare two recordings, called ``names``: foreground kinds first, then by time.

    Raises DiffError when they have no kind of request in common.
    """
    a, b = _Recording(a_store, names[0]), _Recording(b_store, names[1])
    _check(a, b)
    common = a.loads.keys() & b.loads.keys()
    ordered = sorted(
        common,
        key=lambda key: (
            key[1] != "foreground",
            -(a.loads[key].total_ns + b.loads[key].total_ns),
            key,
        ),
    )
    return Diff(
        a=a.side,
        b=b.side,
        kinds=[between(*key, a.of(key), b.of(key)) for key in ordered],
        only_in_a=_told(list(a.loads.keys() - common)),
        only_in_b=_told(list(b.loads.keys() - common)),
    )
