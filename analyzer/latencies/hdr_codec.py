"""Decodes HdrHistogram's compressed histograms: version 2 with PyPI's ``hdrhistogram``, version 1
here, which that package refuses. Every YCSB that was released (0.17) writes version 1.
"""

from __future__ import annotations

import struct
import zlib
from base64 import b64decode
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rcp.analyzer.latencies.latency import LatencyError, needed_to_read

if TYPE_CHECKING:
    from hdrh.histogram import HdrHistogram

_COOKIES = ("HISTF", "HISTg")
"""How base64 of versions 2 and 1 begins."""

_LENGTHS = struct.Struct(">II")  # cookie, bytes that follow
_FIRST_VERSION = struct.Struct(">IIIIqqd")
"""Cookie, bytes of counts, offset, digits, least and greatest value, ratio: HdrHistogram 2.1.4's
``AbstractHistogram.encodeIntoByteBuffer``. Counts of 8 bytes follow."""

_COUNT_BYTES = np.dtype(">i8")
_DIGITS_MAX = 5

AGAIN = "the program was killed or is still running; run it again"


class Bin(NamedTuple):
    """The bounds of a bin, both inclusive."""

    high: int
    low: int


def is_compressed(data: str) -> bool:
    """Whether a word is a histogram of a version that can be read."""
    return data.startswith(_COOKIES)


def decoded(where: str, data: str) -> dict[Bin, int]:
    """Return the counts of a compressed histogram by bin; raise LatencyError if it is damaged."""
    with needed_to_read(where):
        from hdrh.codec import HdrCookieException, HdrLengthException
        from hdrh.histogram import HdrHistogram
    try:
        histogram = _first(data) if data.startswith(_COOKIES[1]) else HdrHistogram.decode(data)
        return {
            Bin(
                item.value_iterated_to,
                histogram.get_lowest_equivalent_value(item.value_iterated_to),
            ): item.count_at_value_iterated_to
            for item in histogram.get_recorded_iterator()
        }
    except (
        *(ValueError, TypeError, IndexError, struct.error, zlib.error),
        *(HdrCookieException, HdrLengthException),
    ):
        raise LatencyError(f"{where} has a damaged histogram: {AGAIN}.") from None


def _first(data: str) -> HdrHistogram:
    """Return a histogram of version 1; raise ValueError, struct.error or zlib.error."""
    from hdrh.histogram import HdrHistogram

    packed = b64decode(data, validate=True)
    _, n_bytes = _LENGTHS.unpack_from(packed)
    body = packed[_LENGTHS.size :]
    if len(body) != n_bytes:
        raise ValueError("cut")
    plain = zlib.decompress(body)
    _, n_counts_bytes, offset, digits, least, greatest, _ = _FIRST_VERSION.unpack_from(plain)
    counts = np.frombuffer(plain, _COUNT_BYTES, offset=_FIRST_VERSION.size)
    if counts.nbytes != n_counts_bytes or offset or digits > _DIGITS_MAX or (counts < 0).any():
        raise ValueError("damaged")
    found = HdrHistogram(least, greatest, digits)
    for index in np.flatnonzero(counts).tolist():
        if not found.record_value(found.get_value_from_index(index), int(counts[index])):
            raise ValueError("a count beyond the greatest value")
    return found
