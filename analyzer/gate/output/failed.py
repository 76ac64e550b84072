"""The failed requests of a judgement: how many there were of both sides, in words and as JSON."""

from __future__ import annotations

from typing import Any

from rcp.analyzer.gate.judgement import Failing
from rcp.analyzer.latencies.latency import Failures
from rcp.probes.contract.percent import percent


def shares(one: Failing) -> str:
    """Return the shares of both sides, or of the only one that tells: ``0.1 % → 2.0 %``.

    Counts replace shares that would read 0.0 % although requests failed.
    """
    sides = [side for side in (one.base, one.candidate) if side is not None]
    told = [percent(side.share) for side in sides]
    if one.candidate.n_failed and told[-1] == percent(0.0):
        told = [f"{side.n_failed} of {side.n}" for side in sides]
    return " → ".join(told)


def failed_sentence(one: Failing | None) -> str:
    """Return how many requests failed, in a sentence; "" if none did or nothing tells."""
    if one is None or not (one.candidate.n_failed or (one.base and one.base.n_failed)):
        return ""
    told, counts = shares(one), f"{one.candidate.n_failed} of {one.candidate.n}"
    of_candidate = "" if told.endswith(counts) else f" ({counts} of the candidate)"
    return f"{one.name}: {told}{of_candidate}, {one.why}"


def failing_object(one: Failing | None) -> dict[str, Any] | None:
    """Return failed requests as an object for JSON; None if nothing tells."""
    if one is None:
        return None
    return {
        "limit": one.limit,
        "baseline": _failures_object(one.base) if one.base else None,
        "candidate": _failures_object(one.candidate),
        "verdict": str(one.verdict),
        "why": one.why,
    }


def _failures_object(failures: Failures) -> dict[str, float]:
    return {"failed": failures.n_failed, "requests": failures.n, "share": failures.share}
