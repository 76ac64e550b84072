"""What would be gained if one pattern of inversions were gone: at best.

From each request the time is subtracted that the pattern took from it, and the quantile is computed
anew from what is left. With latencies of 1, 1, 1 and 9 ms, of which a checkpoint took 7 ms from the
last, the slowest request would take 2 ms.

This is a bound, not a forecast. It assumes that nothing takes the place of the wait that is gone,
although the next wait often ends only a little earlier; that the culprit's work costs nothing
elsewhere; and that requests do not come faster when they are answered faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.quantiles import rank


class PatternOf(NamedTuple):
    """What the inversions of a pattern have in common."""

    kind: str
    culprit: str
    role_rule: str
    pattern: str


class Gain(NamedTuple):
    """A quantile of latency, as it is and as it would be at best; in ns."""

    now_ns: int
    without_ns: int


_WIDER = (4, 32)
"""How many times as many requests as lie beyond a quantile are looked at first, and then."""


def gains(
    store: Store, role: str, kind: str, share: float, patterns: Sequence[PatternOf]
) -> list[Gain]:
    """Return the gain of each pattern at the quantile *share* (0 to 1); none without requests.

    *role* ("" for any) and *kind* ("" for outermost ones) select finished requests.
    """
    # A request can only become faster. So the slowest ones tell, unless the pattern made them all.
    shares = [share, *(max(1 - (1 - share) * times, 0.0) for times in _WIDER)]
    ((n, ends),) = store.query(query("gain/ends"), [role, kind, shares])
    if not n:
        return []
    now_ns, *floors = (int(end) for end in ends)
    place = n - rank(share, n) + 1

    def without_ns(of: PatternOf) -> int:
        for floor_ns in floors:
            found = store.query(query("gain/without"), [role, kind, floor_ns, place, *of])
            if found:
                return int(found[0][0])
        ((left_ns,),) = store.query(query("gain/without"), [role, kind, -1, place, *of])
        return int(left_ns)

    return [Gain(now_ns, without_ns(of)) for of in patterns]
