"""Differences between two recordings, and whether they are significant.

A recording is cut into stretches with the same number of requests. The spread between stretches of
one recording estimates how much two recordings of the same machine differ. Neighbouring requests
are slow together, so single requests would underestimate that.

    stretches of A: 4, 6, 4, 6 ms per request    of B: 1, 3, 1, 3
    A 5 ms, B 2 ms: a change of -3 ms, with an interval from the spread of both
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import variance
from typing import NamedTuple

from rcp.analyzer.compare.by_kind import QUANTILES, Delayed, KindSummary, Load, Tally
from rcp.analyzer.compare.by_kind import Side as Named
from rcp.analyzer.compare.diff import Change, Diff, Kind, between
from rcp.analyzer.compare.render import verdict
from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.store import Store
from rcp.ui.info import overview
from rcp.ui.info.inversions import pattern_key
from rcp.ui.queries import query

N_STRETCHES = 20

REQUESTS_MIN = 5 * N_STRETCHES
"""With fewer requests, the mean of a stretch says nothing."""

_T = 2.093
"""Student's t for 95 % and 19 degrees of freedom; two times 20 stretches have that many or more."""


class PatternKey(NamedTuple):
    """Inversions of one chain shape, kind and culprit."""

    pattern: str
    kind: str
    culprit: str

    @property
    def text(self) -> str:
        """Its key in a comparison."""
        return f"{self.pattern}: {self.kind} by {self.culprit}"


class Side(NamedTuple):
    """One recording's figures for the requests shown."""

    dur_ns: int
    recorded_share: float
    measured: KindSummary
    stretches: list[int]
    """Number of requests in each stretch."""
    reasons: dict[str, dict[int, int]]
    """ns by reason and stretch."""
    patterns: dict[str, dict[int, int]]
    known: dict[str, PatternKey]
    confidence: dict[str, float]
    """Confidence of each pattern, 0 to 1."""
    keys: dict[str, str]
    """Id of each pattern in URLs. With several role rules, that of the longest inversion."""


class Shift(NamedTuple):
    """The change of a reason or pattern between the recordings, with its interval."""

    change: Change
    half_interval_ns: float | None
    """Half of the 95 % confidence interval; None with few requests."""
    confidence: float | None
    """Of patterns: their confidence, weighted by time."""
    pattern: PatternKey | None = None
    keys: tuple[str, str] = ("", "")
    """Of patterns: their ids in URLs, in A and in B; "" where there are none."""

    @property
    def is_significant(self) -> bool:
        """Whether the interval excludes 0."""
        half = self.half_interval_ns
        return half is not None and abs(self.change.delta_ns) > half


class Compared(NamedTuple):
    """Two recordings."""

    verdict: str
    kind: Kind
    reasons: list[Shift]
    vanished: list[Shift]
    appeared: list[Shift]
    changed: list[Shift]


def _by_stretch(
    rows: Sequence[tuple[str, int, int, int]],
) -> tuple[dict[str, Tally], dict[str, dict[int, int]]]:
    total: dict[str, Tally] = {}
    parts: dict[str, dict[int, int]] = {}
    for what, stretch, n, dur in rows:
        before = total.get(what, Tally(0, 0))
        total[what] = Tally(before.n + n, before.dur_ns + dur)
        of = parts.setdefault(what, {})
        of[stretch] = of.get(stretch, 0) + dur
    return total, parts


def sizes(n: int) -> list[int]:
    """Return the number of requests in each stretch of *n*, as SQL's ntile deals them."""
    least, more = divmod(n, N_STRETCHES)
    return [size for at in range(N_STRETCHES) if (size := least + (at < more))]


def side(store: Store, role: str, kind: str) -> Side | None:
    """Return one recording's figures; None if it has no such requests.

    To be asked with ``ask_inversions``: it needs the tables of inversions.
    """
    shares = [share for _, share in QUANTILES]
    ((n, total, worst, quantiles),) = store.query(query("compare/load"), [role, kind, shares])
    if not n:
        return None
    cut = [role, kind, N_STRETCHES]
    reasons, reason_parts = _by_stretch(store.query(query("compare/reasons"), cut))
    rows = store.query(query("compare/patterns"), cut)
    known = {pattern.text: pattern for pattern in (PatternKey(*row[:3]) for row in rows)}
    patterns, pattern_parts = _by_stretch(
        [(PatternKey(*row[:3]).text, row[4], row[5], row[6]) for row in rows]
    )
    sure: dict[str, float] = {}
    behind: dict[str, int] = {}
    longest: dict[str, tuple[int, str]] = {}
    for *who, culprit_role, _, _, dur, weighted, longest_ns, rule in rows:
        text = PatternKey(*who).text
        sure[text] = sure.get(text, 0.0) + weighted
        behind[culprit_role] = behind.get(culprit_role, 0) + dur
        longest[text] = max(longest.get(text, (0, "")), (longest_ns, rule))
    begin, end = extent(store)
    culprits = {
        who: Tally(times, dur)
        for who, times, dur in store.query(query("compare/culprits"), [role, kind])
    }
    totals = overview.totals(store, role, kind)
    delayed = Delayed(totals.n_held_up, totals.share)
    load = Load(n, n / max((end - begin) / 1e9, 1e-9), total, worst)
    return Side(
        dur_ns=end - begin,
        recorded_share=float(facts(store).get("recorded_share", 1.0)),
        measured=KindSummary(load, quantiles, reasons, culprits, patterns, behind, delayed),
        stretches=sizes(n),
        reasons=reason_parts,
        patterns=pattern_parts,
        known=known,
        confidence={what: sure[what] / max(patterns[what].dur_ns, 1) for what in sure},
        keys={
            what: pattern_key(of.kind, of.culprit, longest[what][1], of.pattern)
            for what, of in known.items()
        },
    )


def half_interval(
    a: Mapping[int, int], b: Mapping[int, int], of_a: Sequence[int], of_b: Sequence[int]
) -> float | None:
    """Return half of the 95 % interval of a change in ns per request; None with few requests.

    ``a`` and ``b`` are ns by stretch, ``of_a`` and ``of_b`` the number of requests by stretch.
    """
    if min(sum(of_a), sum(of_b)) < REQUESTS_MIN:
        return None
    spread = 0.0
    for found, sizes in ((a, of_a), (b, of_b)):
        means = [found.get(at, 0) / size for at, size in enumerate(sizes)]
        spread += variance(means) / len(means)
    return _T * math.sqrt(spread)


def _shifts(
    a: Side,
    b: Side,
    changes: Sequence[Change],
    parts: tuple[Mapping[str, dict[int, int]], Mapping[str, dict[int, int]]],
) -> list[Shift]:
    found = []
    for change in changes:
        of_a, of_b = (part.get(change.what, {}) for part in parts)
        half = half_interval(of_a, of_b, a.stretches, b.stretches)
        sure = [side.confidence[change.what] for side in (a, b) if change.what in side.confidence]
        pattern = a.known.get(change.what) or b.known.get(change.what)
        keys = (a.keys.get(change.what, ""), b.keys.get(change.what, ""))
        found.append(Shift(change, half, min(sure, default=None), pattern, keys))
    return sorted(found, key=lambda shift: not shift.is_significant)


def compared(a: Side, b: Side, names: tuple[str, str], kind: str, role: str) -> Compared:
    """Compare two recordings called ``names``; significant changes come first."""
    found = between(kind or "request", role or "any", a.measured, b.measured)
    named = [
        Named(name, side.dur_ns, side.recorded_share)
        for name, side in zip(names, (a, b), strict=True)
    ]
    patterns = _shifts(a, b, found.patterns, (a.patterns, b.patterns))
    by_status = {
        status: [shift for shift in patterns if shift.change.status == status]
        for status in ("gone", "new", "more", "less")
    }
    return Compared(
        verdict=verdict(Diff(named[0], named[1], [found], [], [])),
        kind=found,
        reasons=_shifts(a, b, found.reasons, (a.reasons, b.reasons)),
        vanished=by_status["gone"],
        appeared=by_status["new"],
        changed=[shift for shift in patterns if shift.change.status in ("more", "less")],
    )
