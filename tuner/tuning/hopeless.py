"""When a trial need not go on: it cannot meet the SLO any more, by a wide margin.

Tails come in bursts: ten requests behind one stall are not ten witnesses. The confidence bound
therefore counts a tenth of the requests only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from rcp.analyzer.latencies.latency import Latencies, Times
from rcp.analyzer.latencies.slo import Slo

# Requests that suffer from the same thing, as a rule.
_BURST = 10
# One in a thousand trials may be given up wrongly at each look.
_DEVIATIONS = 3.1
# Requests beyond a quantile, without which nothing can be said of it.
_BEYOND = 30


def lower_bound_ns(latencies_ns: NDArray[np.int64], share: float) -> int:
    """Return what the quantile at *share* (0.99) is not below, for all that is known; 0 if nothing.

    With few requests it is the bound of a lower quantile, which the one wanted is not below either.
    """
    count = len(latencies_ns)
    if count < 2 * _BEYOND:
        return 0
    share = min(share, 1 - _BEYOND / count)
    spread = math.sqrt(_BURST * count * share * (1 - share))
    rank = math.floor(count * share - _DEVIATIONS * spread)
    if rank < 1:
        return 0
    return int(np.partition(latencies_ns, rank - 1)[rank - 1])


def hopeless(
    latencies_ns: NDArray[np.int64], share: float, bound_ns: float, factor: float = 2.0
) -> bool:
    """Whether the quantile at *share* is beyond *factor* times the SLO's bound for certain.

    *latencies_ns* are those of the trial so far. The factor keeps trials that only just miss: a
    search learns most from where the bound is crossed.
    """
    return lower_bound_ns(latencies_ns, share) > factor * bound_ns


def giver_up(slos: Sequence[Slo]) -> Callable[[Latencies], bool]:
    """Return what says whether the latencies of a trial so far cannot meet *slos* any more."""

    def give_up(latencies: Latencies) -> bool:
        return any(hopeless(_of(slo, latencies), slo.quantile, slo.bound_ns) for slo in slos)

    return give_up


def _of(slo: Slo, latencies: Latencies) -> Times:
    if slo.kind:
        return latencies.by_kind.get(slo.kind, np.empty(0, np.int64))
    return np.concatenate([np.empty(0, np.int64), *latencies.by_kind.values()])
