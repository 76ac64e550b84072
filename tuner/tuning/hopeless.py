"""Abort hopeless trials: those that will miss an SLO by a wide margin.

Tails come in bursts: ten requests behind one stall are not ten independent samples. The confidence
bound therefore counts only a tenth of the requests.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rcp.analyzer.latencies.latency import Latencies, Times
from rcp.analyzer.latencies.slo import Slo

# Typical number of requests delayed by one stall.
_BURST = 10
# At each check one in a thousand trials may be aborted wrongly.
_BOUND_DEVIATIONS = 3.1
# Requests needed beyond a quantile to bound it.
_BEYOND = 30


def lower_bound_ns(latencies_ns: NDArray[np.int64], share: float) -> int:
    """Return a lower confidence bound of the quantile at *share* (0.99); 0 with too few requests.

    With few requests it is the bound of a lower quantile, which is valid for this one too.
    """
    count = len(latencies_ns)
    if count < 2 * _BEYOND:
        return 0
    share = min(share, 1 - _BEYOND / count)
    spread = math.sqrt(_BURST * count * share * (1 - share))
    rank = math.floor(count * share - _BOUND_DEVIATIONS * spread)
    if rank < 1:
        return 0
    return int(np.partition(latencies_ns, rank - 1)[rank - 1])


def hopeless(
    latencies_ns: NDArray[np.int64], share: float, bound_ns: float, factor: float = 2.0
) -> bool:
    """Whether the quantile at *share* exceeds *factor* times the SLO's bound with confidence.

    *latencies_ns* are those of the trial so far. The factor spares trials that narrowly miss: a
    search learns most near the bound.
    """
    return lower_bound_ns(latencies_ns, share) > factor * bound_ns


def abort_rule(slos: Sequence[Slo]) -> Callable[[Latencies], bool]:
    """Return an abort hook that is True once the latencies so far are hopeless for *slos*."""

    def abort(latencies: Latencies) -> bool:
        return any(hopeless(_of(slo, latencies), slo.quantile, slo.bound_ns) for slo in slos)

    return abort


def _of(slo: Slo, latencies: Latencies) -> Times:
    if slo.kind:
        return latencies.by_kind.get(slo.kind, np.empty(0, np.int64))
    return np.concatenate([np.empty(0, np.int64), *latencies.by_kind.values()])
