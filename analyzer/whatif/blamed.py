"""What requests lose by what inversions blame on culprits. Queues and devices are elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Times
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.whatif.change import Alteration
from rcp.analyzer.whatif.columns import BlameRows, Flags, Floats, Places, Recorded


def sum_by_request(position: Places, values: npt.NDArray[np.integer] | Floats, n: int) -> Times:
    """Return the sums by position of a request; those of other requests (-1) do not count."""
    some = np.flatnonzero((values != 0) & (position >= 0))
    # Exact: float64 holds integers to 2^53 ns.
    sums: Times = np.bincount(position[some], values[some], n).astype(np.int64)
    return sums


_CERTAIN = 0.9
"""A wait for a helper goes with the culprit only if nearly all of the helper's work is for it."""


@dataclass(frozen=True)
class OfInversions:
    """What requests lose by what inversions blame on the culprits."""

    chain: Times
    cpu: Times
    pools: Times
    """Of waits for tags and slots."""
    rest: Times


def of_inversions(recorded: Recorded, change: Alteration) -> OfInversions:
    """Add up what is blamed on culprits; what is blamed by a pattern counts by its confidence."""
    blamed, n = recorded.blamed, len(recorded.requests)
    own = np.isin(blamed.culprit, change.utids)
    of_pattern = np.isin(blamed.rank, change.ranks) & ~own
    chain = own & blamed.is_chain
    certain = (blamed.confidence >= _CERTAIN) | blamed.is_whole
    rest = own & ~chain
    expected = np.floor(blamed.dur * blamed.confidence)
    # Queue, device and flushes are in the segments.
    outside = sum_by_request(
        blamed.request,
        np.where(of_pattern, expected, np.where(rest & blamed.is_whole, blamed.dur, 0)),
        n,
    )
    return OfInversions(
        chain=sum_by_request(blamed.request, np.where(chain & certain, blamed.dur, 0), n),
        cpu=sum_by_request(blamed.request, np.where(own & blamed.is_cpu, blamed.dur, 0), n),
        pools=_of_pools(blamed, rest, n),
        rest=outside,
    )


def _of_pools(blamed: BlameRows, chosen: Flags, n: int) -> Times:
    """Return what waits for tags and slots lose: nobody waits for one while one is free.

    So with culprits who held most of what all suspects held, the wait goes as a whole.
    """
    of_all = sum_by_request(blamed.request, np.where(blamed.is_pool, blamed.dur, 0), n)
    of_chosen = sum_by_request(blamed.request, np.where(blamed.is_pool & chosen, blamed.dur, 0), n)
    return np.where((of_chosen > 0) & (of_chosen >= MOSTLY * of_all), of_all, of_chosen)


def blamed_in_all(recorded: Recorded, change: Alteration) -> Times:
    """Return all that inversions blame on the culprits, for each request."""
    blamed = recorded.blamed
    chosen = np.isin(blamed.culprit, change.utids) | np.isin(blamed.rank, change.ranks)
    return sum_by_request(blamed.request, np.where(chosen, blamed.dur, 0), len(recorded.requests))
