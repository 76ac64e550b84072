"""What a fleet has: summaries as local files, and what could not be had."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.fleet.slices import ALL_DAYS, LAST_DAY


class Entry(NamedTuple):
    """A summary as a local file."""

    place: str
    """Its path below the fleet's folder."""
    path: Path
    changed_ns: int
    """When it came into the fleet, by the clock of the file system or object store."""


class Failure(NamedTuple):
    """A summary that was left out, and why."""

    place: str
    why: str


@dataclass
class Listing:
    """What a fleet has of some days."""

    name: str
    entries: list[Entry] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    """Summaries that could not be copied."""
    other_roots: list[str] = field(default_factory=list)
    """Folders of other schemas."""


def chosen_days(days: Iterable[str], wanted: str | None) -> list[str]:
    """Return the days to read: one, ``all``, or the last; without *wanted* all."""
    known = sorted(set(days))
    if wanted in (None, ALL_DAYS):
        return known
    return known[-1:] if wanted == LAST_DAY else [day for day in known if day == wanted]


def is_root(name: str) -> bool:
    """Tell whether a folder's name is that of a schema."""
    return name[:1] == "v" and name[1:].isdigit()
