"""Quantiles: their names, the terms in which users write limits, and their values.

They are computed by nearest rank: the p99 of 1000 latencies is the 990th shortest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rcp.analyzer.latencies.latency import Times

SHARES = {
    "p50": 0.5,
    "p90": 0.9,
    "p95": 0.95,
    "p99": 0.99,
    "p999": 0.999,
    "p99.9": 0.999,
    "p9999": 0.9999,
    "p99.99": 0.9999,
    "max": 1.0,
}
"""Shares of quantiles by the names that users write."""

PERCENTILE_NAMES = ", ".join(name for name in SHARES if "." not in name)
"""For messages about an unknown name."""

PARTS = 10_000
"""Every share is a multiple of 1/PARTS, so that ranks are computed in integers."""

BEYOND_MIN = 10
"""Requests that must lie beyond a quantile: with fewer, one request changes it much."""

_TERM = re.compile(r"(?P<name>[^=@]*)=(?P<value>[^@]*)(?:@(?P<kind>[^@]*))?")


@dataclass(frozen=True)
class Term:
    """A term about one quantile: ``p99=VALUE@fsync``."""

    text: str
    """As the user wrote it; so are *name* and *value*."""
    name: str
    value: str
    kind: str
    """Kind of request; "" when the user names none."""

    @property
    def share(self) -> float:
        """Return 0.99 for p99."""
        return SHARES[self.name.lower()]


@dataclass(frozen=True)
class Grammar:
    """Terms joined by commas; a bad one raises *error*, which names it and the remedy."""

    noun: str
    """Name of a term in messages."""
    example: str
    error: type[Exception]

    @property
    def remedy(self) -> str:
        """Return the remedy for a bad term."""
        return f"write one such as {self.example}"

    def terms(self, text: str) -> Iterator[Term]:
        """Yield the terms of a text, at least one."""
        if not text.strip():
            raise self.error(f"no {self.noun} is given: {self.remedy}.")
        for part in (part.strip() for part in text.split(",")):
            if not part:
                raise self.error(f"{text!r} has an empty {self.noun}: remove a comma.")
            yield self._term(part)

    def _term(self, text: str) -> Term:
        match = _TERM.fullmatch(text)
        if match is None:
            raise self.error(f"{text!r} is not a valid {self.noun}: {self.remedy}.")
        name, kind = match["name"].strip(), match["kind"]
        if name.lower() not in SHARES:
            raise self.error(
                f"{text!r} has the unknown percentile {name!r}: write one of {PERCENTILE_NAMES}."
            )
        if kind is not None and not kind.strip():
            raise self.error(f"{text!r} names no kind of request after the @: {self.remedy}.")
        return Term(text, name, match["value"].strip(), (kind or "").strip())


def rank(share: float, n: int) -> int:
    """Return the nearest rank, from 1, of a quantile of *n* latencies (n > 0)."""
    return max(1, -(-round(share * PARTS) * n // PARTS))


def quantile_ns(latencies: Times, share: float) -> int:
    """Return a quantile of latencies, in ns."""
    position = rank(share, len(latencies)) - 1
    return int(np.partition(latencies, position)[position])


def enough(share: float, n: int, n_beyond: int) -> bool:
    """Whether a quantile of *n* latencies, *n_beyond* of a higher rank, can be judged.

    The maximum needs only to be known to be of some latency.
    """
    return n > 0 if share == 1 else n_beyond >= BEYOND_MIN


def n_needed(share: float, beyond: int = BEYOND_MIN) -> int:
    """Return how many requests have *beyond* of them beyond a quantile; 1 for the maximum."""
    rest = PARTS - round(share * PARTS)
    return -(-beyond * PARTS // rest) if rest else 1
