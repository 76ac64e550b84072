"""What the patched kernel did against inversions, and what it missed: queries only."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


class Inherited(NamedTuple):
    """What the kernel made critical in one way."""

    kind: str | None
    """loan: another task became critical. promotion: a queued io did. None: of a newer kernel than
    this rcp knows."""
    mechanism: str | None
    """loan: what was waited for. promotion: how the io was found."""
    n: int
    n_requests: int
    """Foreground requests with one on their critical path."""
    dur_ns: int | None
    """promotion: time the ios had been queued before."""
    max_ns: int | None


class EndedOrMissed(NamedTuple):
    """Inversions of foreground requests by one mechanism: how many the kernel ended and missed."""

    mechanism: str | None
    """lock, journal, queue, slot, device or futex; else the kind of the inversions. None: of a
    newer kernel than this rcp knows."""
    n_ended: int
    """Cut short by a loan or a promotion."""
    n_ended_requests: int
    ended_ns: int
    """How long they delayed requests nevertheless."""
    n_missed: int
    """Behind background work, and nothing was made critical for them."""
    n_missed_requests: int
    missed_ns: int
    missed_max_ns: int | None


def inheritance(store: Store) -> list[Inherited]:
    """Return loans and promotions by mechanism, the most frequent first."""
    return store.rows(Inherited, query("report/inheritance"))


def ended_and_missed(store: Store) -> list[EndedOrMissed]:
    """Return how many inversions were ended and missed, the mechanism that missed most first."""
    return store.rows(EndedOrMissed, query("report/ended_and_missed"))
