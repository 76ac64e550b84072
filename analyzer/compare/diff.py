"""Compares two recordings, for each kind of request that both have.

Recordings differ in length and load, so nothing is compared in absolute terms: times are per
finished request of the kind, counts per 1000 of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rcp.analyzer.arrays.roles import BACKGROUND
from rcp.analyzer.compare.by_kind import (
    QUANTILES,
    Delayed,
    Key,
    KindSummary,
    Load,
    Recording,
    Side,
    Tally,
    read_recording,
)
from rcp.analyzer.db.store import Store
from rcp.probes.contract.user_error import UserError

BEYOND_COMPARED_MIN = 10
"""A quantile is compared if at least this many requests lie above it in both recordings.
With fewer, one request more or less changes it."""

_NOTHING = Tally(0, 0)


class DiffError(UserError):
    """Two recordings cannot be compared; the message says why."""


class Quantile(NamedTuple):
    """One latency quantile in both recordings."""

    name: str
    a_ns: int
    b_ns: int
    ratio: float | None
    """b over a; None when it is not compared."""
    why_not: str
    """Why it is not compared, "" when it is."""


class Change(NamedTuple):
    """Time of one cause per request, in both recordings."""

    what: str
    """Reason, culprit or pattern."""
    a_ns: float
    b_ns: float
    delta_ns: float
    a_per_1000: float
    """Per 1000 requests: waits (for a reason), or delayed requests (by a culprit or pattern)."""
    b_per_1000: float
    a_per_s: float
    b_per_s: float
    status: str
    """``new``, ``gone``, ``more``, ``less`` or ``same``."""


class Kind(NamedTuple):
    """The comparison of one kind of request."""

    name: str
    role: str
    a: Load
    b: Load
    quantiles: list[Quantile]
    who: str
    """Whose work delayed requests: background work, or other work if that never did."""
    a_delayed: Delayed
    b_delayed: Delayed
    reasons: list[Change]
    culprits: list[Change]
    patterns: list[Change]


class Diff(NamedTuple):
    """The comparison of two recordings."""

    a: Side
    b: Side
    kinds: list[Kind]
    only_in_a: list[str]
    """Kinds of request that B does not have."""
    only_in_b: list[str]


def _quantiles(a: KindSummary, b: KindSummary) -> list[Quantile]:
    fewest = min(a.load.n, b.load.n)
    found = []
    for at, (name, quantile) in enumerate(QUANTILES):
        a_ns, b_ns = a.quantiles_ns[at], b.quantiles_ns[at]
        needed = round(BEYOND_COMPARED_MIN / (1 - quantile))
        why_not = f"needs {needed} requests" if fewest < needed else ""
        ratio = b_ns / a_ns if a_ns and not why_not else None
        found.append(Quantile(name, a_ns, b_ns, ratio, why_not))
    return found


def _status(a: Tally, b: Tally, delta_ns: float) -> str:
    if not a.n or not b.n:
        return "gone" if a.n else "new"
    if delta_ns == 0:
        return "same"
    return "more" if delta_ns > 0 else "less"


def changes(
    a: Mapping[str, Tally], b: Mapping[str, Tally], loads: tuple[Load, Load]
) -> list[Change]:
    """Return the causes of either recording, the largest change of time per request first."""
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


def between(name: str, role: str, a: KindSummary, b: KindSummary) -> Kind:
    """Compare requests of one kind in two recordings, each of which has some."""
    loads = (a.load, b.load)
    roles = {*a.behind_ns, *b.behind_ns}
    return Kind(
        name=name,
        role=role,
        a=a.load,
        b=b.load,
        quantiles=_quantiles(a, b),
        who="background work" if BACKGROUND in roles or not roles else "other work",
        a_delayed=a.delayed,
        b_delayed=b.delayed,
        reasons=changes(a.reasons, b.reasons, loads),
        culprits=changes(a.culprits, b.culprits, loads),
        patterns=changes(a.patterns, b.patterns, loads),
    )


def _listed(keys: Sequence[Key]) -> list[str]:
    return [f"{name} ({role})" for name, role in sorted(keys)]


def _check(a: Recording, b: Recording) -> None:
    if a.loads.keys() & b.loads.keys():
        return

    def has(recording: Recording) -> str:
        kinds = ", ".join(_listed(list(recording.loads))) or "no finished request"
        return f"{recording.side.name} has {kinds}"

    raise DiffError(f"nothing to compare: no kind of request is in both: {has(a)}; {has(b)}.")


def compare(a_store: Store, b_store: Store, names: tuple[str, str] = ("A", "B")) -> Diff:
    """Compare two recordings, called ``names``; foreground kinds come first, then by total time.

    Raises DiffError when they have no kind of request in common.
    """
    return compared(read_recording(a_store, names[0]), read_recording(b_store, names[1]))


def compared(a: Recording, b: Recording) -> Diff:
    """Compare two recordings, or two parts of a fleet; raise DiffError as ``compare`` does."""
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
        only_in_a=_listed(list(a.loads.keys() - common)),
        only_in_b=_listed(list(b.loads.keys() - common)),
    )
