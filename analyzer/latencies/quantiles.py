"""Quantiles and means of tails: their names, the terms of limits and SLOs, and their values.

Quantiles are computed by nearest rank: the p99 of 1000 latencies is the 990th shortest. ``tail99``
is the mean of the slowest 1 %: of the 10 latencies beyond that one. In the literature it is the
expected shortfall, or conditional value at risk (Rockafellar and Uryasev, Optimization of
conditional value-at-risk, 2000; Acerbi and Tasche, On the coherence of expected shortfall, 2002).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
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

TAILS = {name.replace("p", "tail"): share for name, share in SHARES.items() if share < 1}
"""Shares of the quantiles that tails begin at, by the names that users write: ``tail99``."""


def _listed(names: Iterable[str]) -> str:
    return ", ".join(name for name in names if "." not in name)


PERCENTILE_NAMES, TAIL_NAMES = _listed(SHARES), _listed(TAILS)
"""For messages about an unknown name."""

PARTS = 10_000
"""Every share is a multiple of 1/PARTS, so that ranks are computed in integers."""

BEYOND_MIN = 10
"""Requests that must lie beyond a quantile: with fewer, one request changes it much."""

_TERM = re.compile(r"(?P<name>[^=@]*)=(?P<value>[^@]*)(?:@(?P<kind>[^@]*))?")


@dataclass(frozen=True)
class Term:
    """A term about a quantile or the mean of a tail: ``p99=VALUE@fsync``, ``tail99=VALUE``."""

    text: str
    """As the user wrote it; so are *name* and *value*."""
    name: str
    value: str
    kind: str
    """Kind of request; "" when the user names none."""

    @property
    def share(self) -> float:
        """Return 0.99 for p99 and tail99."""
        return (TAILS if self.is_tail else SHARES)[self.name.lower()]

    @property
    def is_tail(self) -> bool:
        """Whether the term is about the mean of a tail."""
        return self.name.lower() in TAILS


@dataclass(frozen=True)
class Grammar:
    """Terms joined by commas; a bad one raises *error*, which names it and the remedy."""

    noun: str
    """Name of a term in messages."""
    example: str
    error: type[Exception]
    has_tails: bool = True
    """Whether terms may be about the means of tails, which only the gate judges."""

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
        self._check_name(text, name)
        if kind is not None and not kind.strip():
            raise self.error(f"{text!r} names no kind of request after the @: {self.remedy}.")
        return Term(text, name, match["value"].strip(), (kind or "").strip())

    def _check_name(self, text: str, name: str) -> None:
        if name.lower() in TAILS and not self.has_tails:
            raise self.error(
                f"{text!r} bounds the mean of a tail, which only rcp-trace gate judges: "
                "bound a quantile, such as p99."
            )
        if name.lower() not in {**SHARES, **TAILS}:
            tails = f", or {TAIL_NAMES}" if self.has_tails else ""
            raise self.error(
                f"{text!r} has the unknown percentile {name!r}: "
                f"write one of {PERCENTILE_NAMES}{tails}."
            )


def rank(share: float, n: int) -> int:
    """Return the nearest rank, from 1, of a quantile of *n* latencies (n > 0)."""
    return max(1, -(-round(share * PARTS) * n // PARTS))


def quantile_ns(latencies: Times, share: float) -> int:
    """Return a quantile of latencies, in ns."""
    position = rank(share, len(latencies)) - 1
    return int(np.partition(latencies, position)[position])


def n_in_tail(share: float, n: int) -> int:
    """Return how many of *n* latencies a tail has: those beyond its quantile, but at least one."""
    return max(1, n - rank(share, n))


def tail_mean_ns(latencies: Times, share: float) -> float:
    """Return the mean of the latencies beyond a quantile, in ns."""
    n = n_in_tail(share, len(latencies))
    return float(np.partition(latencies, len(latencies) - n)[-n:].mean())


def enough(share: float, n: int, n_beyond: int) -> bool:
    """Whether a quantile of *n* latencies, *n_beyond* of a higher rank, can be judged.

    The maximum needs only to be known to be of some latency.
    """
    return n > 0 if share == 1 else n_beyond >= BEYOND_MIN


def n_needed(share: float, beyond: int = BEYOND_MIN) -> int:
    """Return how many requests have *beyond* of them beyond a quantile; 1 for the maximum."""
    rest = PARTS - round(share * PARTS)
    return -(-beyond * PARTS // rest) if rest else 1
