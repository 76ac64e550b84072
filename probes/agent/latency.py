"""Latencies of requests, counted in buckets of an exponential histogram of scale 7.

Bucket k counts latencies in (2^((k-1)/128), 2^(k/128)] s: as in Prometheus' native histograms of
schema 7, and as fine as in ``rcp-trace summary``. Classic buckets are 64 of these together, so
their bounds are powers of the square root of 2.

    k = 0: up to 1 s      k = -128: up to 0.5 s      k = -1280: up to 2^-10 s, 0.98 ms
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from math import isqrt

import numpy as np
import numpy.typing as npt

SCALE = 7
PER_OCTAVE = 1 << SCALE
FIRST, LAST = -20 * PER_OCTAVE, 10 * PER_OCTAVE
"""From 0.95 us to 17 minutes. What is shorter is in the first bucket, what is longer beyond the
last."""
CLASSIC_STEP = PER_OCTAVE // 2

Counts = npt.NDArray[np.int64]


@cache
def bounds_ns() -> Counts:
    """Return the longest whole latency of each bucket, from FIRST to LAST.

    2^(k/128) s in ns is the 128th root of 10^(9*128) * 2^k: seven square roots, in whole numbers.
    The floor of a root of a floor is the floor of the root.
    """
    found = []
    base = 10 ** (9 * PER_OCTAVE)
    for k in range(FIRST, LAST + 1):
        bound = base << k if k >= 0 else base >> -k
        for _ in range(SCALE):
            bound = isqrt(bound)
        found.append(bound)
    return np.array(found, np.int64)


@cache
def classic_bounds() -> tuple[str, ...]:
    """Return the upper bounds of classic buckets in s, as text; the last one is +Inf."""
    return (*(repr(2.0 ** (k / PER_OCTAVE)) for k in range(FIRST, LAST + 1, CLASSIC_STEP)), "+Inf")


def classic_of(dur_ns: int) -> int:
    """Return the index of the classic bucket that counts a latency."""
    return -(-int(np.searchsorted(bounds_ns(), dur_ns)) // CLASSIC_STEP)


class Latency:
    """Finished requests of one name."""

    def __init__(self) -> None:
        """Start with none."""
        self.counts: Counts = np.zeros(LAST - FIRST + 2, np.int64)
        """Requests by bucket from FIRST on; the last are longer than LAST."""
        self.sum_ns = 0

    def add(self, dur_ns: Counts) -> None:
        """Count requests."""
        places = np.searchsorted(bounds_ns(), dur_ns)
        self.counts += np.bincount(places, minlength=len(self.counts))
        self.sum_ns += int(dur_ns.sum())

    def classic(self) -> list[int]:
        """Return the number of requests up to each of ``classic_bounds``."""
        upto = np.cumsum(self.counts)
        return [*upto[:-1:CLASSIC_STEP].tolist(), int(upto[-1])]


class RequestLatencies:
    """Counts requests as they are drained."""

    def __init__(self) -> None:
        """Start with none."""
        self.by_name: dict[str, Latency] = {}

    def count(self, rows: npt.NDArray[np.void], names: Mapping[int, str]) -> None:
        """Count the finished requests of *rows*; *names* are those of ``request.nr``."""
        rows = rows[rows["end_ns"] > rows["ts"]]
        for nr in np.unique(rows["nr"]).tolist():
            own = rows[rows["nr"] == nr]
            latency = self.by_name.setdefault(names.get(nr, str(nr)), Latency())
            latency.add((own["end_ns"] - own["ts"]).astype(np.int64))
