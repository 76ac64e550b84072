"""Inversions by pattern, and the requests they delayed."""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from rcp.analyzer.blame.chains import REPEATED
from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.reports.doubts import why_lowered
from rcp.ui.info.population import limits
from rcp.ui.queries import query

_SLOW = 2
"""Position of the slowest 1 % in population.BANDS: their limit is that band's end."""

_EVER = 1 << 62


class Filter(NamedTuple):
    """Selects inversions; "" and None select all."""

    from_s: float | None = None
    to_s: float | None = None
    """Interval of the requests' start, in s since the start of the recording."""
    kind: str = ""
    culprit: str = ""
    path: str = ""
    """File on the requests' critical path."""
    cgroup: int | None = None
    """Id of the culprit's cgroup."""


def pattern_key(*parts: str) -> str:
    """Return a pattern's id in a URL: of its kind, culprit, role rule and chain."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]


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
    """Its time in the slowest 1 % of requests."""
    slow_share: float | None
    """The same as a share of these requests' time, 0 to 1."""
    max_ns: int
    confidence: float
    rank: int
    """Its number in the report, by its time in all requests of the recording."""

    @property
    def title(self) -> str:
        """What it is called, beginning as in the report."""
        return f"#{self.rank} {self.kind} by {self.culprit}"

    @property
    def key(self) -> str:
        """Its id in a URL."""
        return pattern_key(self.kind, self.culprit, self.role_rule, self.pattern)


class HeldUp(NamedTuple):
    """A request with inversions of a pattern."""

    request_id: int
    offset_ns: int
    name: str
    comm: str
    dur_ns: int
    held_up_ns: int
    n_ios_ahead: float
    bytes_ahead: int


class Choices(NamedTuple):
    """The options of the filters, by name; files by how often they occur."""

    kinds: list[str]
    culprits: list[str]
    cgroups: list[str]
    paths: list[str]


def choices(store: Store) -> Choices:
    """Return the options of the filters."""
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
    """Return the inversion patterns of the requests shown, by time in the slowest requests."""
    ends = limits(store, role, kind)
    if not ends:
        return []
    _, lo, hi = _window(store, asked)
    only = [asked.kind, asked.culprit, asked.path, asked.cgroup]
    return store.rows(
        Pattern, query("inversions/patterns"), [role, kind, ends[_SLOW], lo, hi, *only]
    )


def held_up(store: Store, role: str, kind: str, asked: Filter, of: Pattern) -> list[HeldUp]:
    """Return the requests with inversions of a pattern, the longest delayed first."""
    begin, lo, hi = _window(store, asked)
    which = [of.kind, of.culprit, of.pattern, of.role_rule, begin]
    return store.rows(HeldUp, query("inversions/requests"), [role, kind, lo, hi, *which])


def doubts(store: Store, of: Pattern) -> list[str]:
    """Return the reasons why a pattern's confidence is below 1."""
    share = float(facts(store).get("recorded_share", 1.0))
    return why_lowered(of.confidence, of.role, share)


_STEPS = (
    (
        re.compile(r"cpu_max behind (.+)"),
        "waits for the next period of its CPU limit, used up by {0} (cpu_max)",
    ),
    (
        re.compile(r"interrupt for (.+)"),
        "its CPU ends ios of {0} instead (interrupt)",
    ),
    (re.compile(r"runqueue behind (.+)"), "waits for a CPU while {0} runs (runqueue)"),
    (
        re.compile(r"refault behind (.+)"),
        "for a page that {0} has pushed out of memory (refault)",
    ),
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
    text, has_object = name, True
    for at, whole in enumerate(steps):
        step = whole.replace(REPEATED, "")
        match, words = next(
            ((found, words) for form, words in _STEPS if (found := form.fullmatch(step))),
            (None, step),
        )
        clause = words.format(*match.groups()) if match else step
        clause += ", again and again" * (step != whole)
        joint = " " if at == 0 or not has_object else ", which "
        text += joint + clause
        has_object = not clause.startswith("waits (")
    return text
