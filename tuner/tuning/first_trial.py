"""Why a tuning cannot begin: its first trial failed, or has too few requests."""

from __future__ import annotations

from rcp.analyzer.latencies.quantiles import SHARES, n_needed
from rcp.tuner.trials.machine import Machine
from rcp.tuner.trials.measurement import Measurement


def refusal(first: Measurement, machine: Machine) -> str:
    """Return why a tuning cannot begin after its first trial, with the remedy."""
    short = first.shortage
    if short is None:
        return f"the first trial failed: {first.failed}"
    if not short.n:
        return f"{short.text}: {machine.every_latency()}"
    remedies = [machine.more_requests(short), *_lower(short.n)]
    return f"{short.text}: {', or '.join(remedies)}"


def _lower(n: int) -> list[str]:
    """Return the remedy of a lower quantile, if *n* requests are enough for any."""
    known = [name for name, share in SHARES.items() if share < 1 and n_needed(share) <= n]
    return [f"bound a lower quantile: {n} are enough for {known[-1]}"] if known else []
