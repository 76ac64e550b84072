"""A bound on the series of a family: the names that come first, and ``other`` for the rest."""

from __future__ import annotations

from hashlib import blake2b
from math import log

OTHER = "other"

_BITS = 1 << 18
"""32 KiB; 100,000 names set a third of them, and their number is then known within 1 %."""


class DistinctCount:
    """Counts distinct names in fixed memory (linear counting), within 1 %."""

    def __init__(self) -> None:
        """Start with none."""
        self._bits = bytearray(_BITS // 8)
        self._n_set = 0

    def add(self, name: str) -> None:
        """Count a name, once."""
        digest = blake2b(name.encode("utf-8", "replace"), digest_size=8).digest()
        place = int.from_bytes(digest, "little") % _BITS
        if not self._bits[place >> 3] >> (place & 7) & 1:
            self._bits[place >> 3] |= 1 << (place & 7)
            self._n_set += 1

    @property
    def count(self) -> int:
        """About how many there were: the places that names share are added."""
        return round(-_BITS * log(1 - min(self._n_set, _BITS - 1) / _BITS))


class Bounded:
    """Admits the first *limit* keys; all others become one key, ``other``."""

    def __init__(self, limit: int) -> None:
        """*limit* is a number of keys, ``other`` beside them."""
        self._limit = limit
        self._known: set[tuple[str, ...]] = set()
        self._folded = DistinctCount()

    def key(self, key: tuple[str, ...]) -> tuple[str, ...]:
        """Return *key*, or as many times ``other``."""
        if key in self._known:
            return key
        if len(self._known) < self._limit:
            self._known.add(key)
            return key
        self._folded.add("\0".join(key))
        return (OTHER,) * len(key)

    @property
    def n_folded(self) -> int:
        """About how many distinct keys became ``other``."""
        return self._folded.count
