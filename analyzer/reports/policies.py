"""What the patched kernel's policies decided, for reports: queries only."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


class Policy(NamedTuple):
    """Decisions of one kind about one role's work."""

    kind: str
    role: str
    level: str | None
    n: int
    total_ns: int
    max_ns: int | None
    n_requests: int
    """Foreground requests with one on their critical path."""
    foreground_ns: int
    """What they waited for it."""


def policies(store: Store) -> list[Policy]:
    """Return the decisions by kind, role and class, the costliest first."""
    return store.rows(Policy, query("report/policies"))
