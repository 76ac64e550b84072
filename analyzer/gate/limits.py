"""What may get worse by how much, as users write it: ``p99=5%,p999=10%@fsync``."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rcp.analyzer.latencies.slo import SHARES

_LIMIT = re.compile(r"(?P<name>[^=@]*)=(?P<percent>[^@]*)(?:@(?P<kind>[^@]*))?")
_EXAMPLE = "write one such as p99=5%@fsync"

DEFAULT = "p99=5%"


class LimitError(Exception):
    """A limit cannot be understood; the message names the limit, the fault and the remedy."""


@dataclass(frozen=True)
class Limit:
    """By what part (0.05) a quantile of *kind* ("": whatever is judged) may grow."""

    name: str
    """As the user calls the quantile: ``p99``."""
    share: float
    growth: float
    kind: str = ""

    @property
    def label(self) -> str:
        """Return ``p99@fsync``."""
        return f"{self.name}@{self.kind}" if self.kind else self.name


def _limit(text: str) -> Limit:
    match = _LIMIT.fullmatch(text)
    if match is None:
        raise LimitError(f"{text!r} is no limit: {_EXAMPLE}.")
    name, kind = match["name"].strip().lower(), match["kind"]
    if name not in SHARES:
        known = ", ".join(known for known in SHARES if "." not in known)
        raise LimitError(f"{text!r} has the unknown percentile {name!r}: write one of {known}.")
    if kind is not None and not kind.strip():
        raise LimitError(f"{text!r} names no kind of request after the @: {_EXAMPLE}.")
    try:
        percent = float(match["percent"].strip().removesuffix("%"))
    except ValueError:
        percent = -1.0
    if not match["percent"].strip().endswith("%") or not 0 < percent < float("inf"):
        raise LimitError(f"{text!r} has no percentage above 0: {_EXAMPLE}.")
    return Limit(name, SHARES[name], percent / 100, (kind or "").strip())


def parse(text: str) -> tuple[Limit, ...]:
    """Return the limits of a text; raise LimitError."""
    found: list[Limit] = []
    for part in (part.strip() for part in text.split(",")):
        if not part:
            raise LimitError(f"{text!r} has an empty limit: {_EXAMPLE}.")
        limit = _limit(part)
        if any((limit.share, limit.kind) == (other.share, other.kind) for other in found):
            raise LimitError(f"{limit.label} is limited twice: keep one.")
        found.append(limit)
    return tuple(found)
