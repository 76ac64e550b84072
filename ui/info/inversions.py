"""Who held requests up, by pattern, and which requests."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.export.selection import extent
from rcp.analyzer.reports.doubts import why_lowered
from rcp.ui.info.population import limits
from rcp.ui.queries import query

_SLOW = 2
"""Position of the slowest 1 % in population.BANDS: their limit is that band's end."""

_EVER = 1 << 62


class Filter(NamedTuple):
    """Which inversions are asked for; what is "" or None does not matter."""

    from_s: float | None = None
    to_s: float | None = None
    """Time since the recording's beginning at which the requests began."""
    kind: str = ""
    culprit: str = ""
    path: str = ""
    """File on the requests' critical path."""
    cgroup: int | None = None
    """cgroup of the culprit."""


class Pattern(NamedTuple):
    """Inversions of one kind, culprit and chain shape."""

    kind: str
    culprit: str
    role: str
    role_rule: str
    pattern: str
    n_requests: int
    total_ns: int
    slow_ns: int
    """What it took of the slowest 1 % of requests."""
    slow_share: float | None
    """The same as a part of these requests' time, 0 to 1."""
    max_ns: int
    confidence: float

    @property
    def key(self) -> str:
        """What stands for it in a URL."""
        parts = (self.kind, self.culprit, self.role_rule, self.pattern)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


class HeldUp(NamedTuple):
    """A request with inversions of a pattern."""

    request_id: int
    offset_ns: int
    name: str
    comm: str
    dur_ns: int
    held_up_ns: int
    n_ios_ahead: int
    bytes_ahead: int


class Choices(NamedTuple):
    """What filters offer, in order of name; files by how often they were met."""

    kinds: list[str]
    culprits: list[str]
    cgroups: list[str]
    paths: list[str]


def choices(store: Store) -> Choices:
    """Return what filters offer."""
    found: dict[str, list[str]] = {"kind": [], "culprit": [], "cgroup": []}
    for what, value, _ in store.query(query("inversions/choices")):
        found[what].append(value)
    paths = [path for path, _ in store.query(query("inversions/files"))]
    return Choices(found["kind"], found["culprit"], found["cgroup"], paths)


def _window(store: Store, asked: Filter) -> tuple[int, int, int]:
    begin, _ = extent(store)
    lo = -_EVER if asked.from_s is None else begin + round(asked.from_s * 1e9)
    hi = _EVER if asked.to_s is None else begin + round(asked.to_s * 1e9)
    return begin, lo, hi


def patterns(store: Store, role: str, kind: str, asked: Filter) -> list[Pattern]:
    """Return the patterns of inversions of the requests shown, by what the slowest lost."""
    ends = limits(store, role, kind)
    if not ends:
        return []
    _, lo, hi = _window(store, asked)
    only = [asked.kind, asked.culprit, asked.path, asked.cgroup]
    return store.rows(
        Pattern, query("inversions/patterns"), [role, kind, ends[_SLOW], lo, hi, *only]
    )


def held_up(store: Store, role: str, kind: str, asked: Filter, of: Pattern) -> list[HeldUp]:
    """Return the requests a pattern held up, longest first."""
    begin, lo, hi = _window(store, asked)
    which = [of.kind, of.culprit, of.pattern, of.role_rule, begin]
    return store.rows(HeldUp, query("inversions/requests"), [role, kind, lo, hi, *which])


def doubts(store: Store, of: Pattern) -> list[str]:
    """Say what keeps a pattern's confidence below 1."""
    share = float(facts(store).get("recorded_share", 1.0))
    return why_lowered(of.confidence, of.role, share)


_STEPS = (
    (re.compile(r"runqueue behind (.+)"), "waits for a CPU while {0} runs (runqueue)"),
    (re.compile(r"(\w+) behind (.+)"), "waits behind {1} ({0})"),
    (re.compile(r"(\w+) shared with (.+)"), "shares the {0} with {1}"),
    (re.compile(r"(\w+) \((.+)\) for (.+)"), "waits for {1} ({0}), which works for {2}"),
    (re.compile(r"(\w+) \((.+)\)"), "waits for {1} ({0})"),
    (re.compile(r"io by (.+)"), "for an io by {0}"),
    (re.compile(r"(\w+)"), "waits ({0})"),
)


def sentence(pattern: str) -> str:
    """Return a chain as a sentence: ``fsync waits for jbd2 (journal_commit), which …``."""
    name, *steps = pattern.split(" → ")
    told, has_object = name, True
    for at, step in enumerate(steps):
        match, words = next(
            ((found, words) for form, words in _STEPS if (found := form.fullmatch(step))),
            (None, step),
        )
        text = words.format(*match.groups()) if match else step
        joint = " " if at == 0 or not has_object else ", which "
        told += joint + text
        has_object = not text.startswith("waits (")
    return told
