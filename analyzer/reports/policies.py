"""Decisions of the patched kernel's policies, for reports: queries only."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


class Policy(NamedTuple):
    """Decisions of one kind about the work of one role and class."""

    kind: str | None
    """None: of a newer kernel than this rcp knows."""
    role: str
    level: str | None
    n: int
    total_ns: int
    max_ns: int | None
    n_requests: int
    """Foreground requests with such a decision on their critical path."""
    foreground_ns: int
    """Time they waited because of it."""


def policies(store: Store) -> list[Policy]:
    """Return the decisions by kind, role and class, the costliest first."""
    return store.rows(Policy, query("report/policies"))
