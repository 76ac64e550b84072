"""The time an io would take at an idle device: what is beyond it, others at the device cost."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.trace import Index, Ios, Times

EXCESS_MIN = 0.10
"""Least excess over the solo time, as a part of it: anything less is the device's own jitter."""

ALONE_MIN = 1
"""Least number of ios alone at the device whose median is a solo time; fewer make a guess."""


def size_bucket(ios: Ios) -> npt.NDArray[np.int32]:
    """Return the binary logarithm of each io's size, rounded down."""
    return np.log2(np.maximum(ios.bytes, 1), dtype=np.float32).astype(np.int32)


def _alone(ios: Ios) -> npt.NDArray[np.bool_]:
    """Return which ios were alone at the device from D to C."""
    alone = np.zeros(len(ios), bool)
    for dev in np.unique(ios.dev):
        on = np.flatnonzero(ios.dev == dev).astype(np.int32)
        on = on[np.argsort(ios.issued[on], kind="stable")]
        issued, completed = ios.issued[on], ios.completed[on]
        free = completed > issued
        # All earlier ios had completed, and the next one was issued later.
        free[:-1] &= issued[1:] >= completed[:-1]
        np.maximum.accumulate(completed, out=completed)
        free[1:] &= completed[:-1] <= issued[1:]
        alone[on[free]] = True
    return alone


def _alike(ios: Ios) -> npt.NDArray[np.int32]:
    """Number the ios by device, operation, whether they go to the media, and size bucket."""
    devices = np.unique(ios.dev)
    code = np.searchsorted(devices, ios.dev).astype(np.int32)
    # A write that goes through the cache takes longer: it has solo times of its own.
    code = ((code << 8 | ios.op) << 1 | ios.to_media) << 6 | size_bucket(ios)
    # A search instead of np.unique's inverse, which sorts and takes five times the memory.
    return np.searchsorted(np.unique(code), code).astype(np.int32)


def solo_service_ns(ios: Ios) -> tuple[Times, npt.NDArray[np.bool_]]:
    """Return the D2C each io would have on an idle device, and whether that is a guess.

    It is the median D2C of the ios with the same device, operation, way to the media and size
    bucket that were alone at the device. If none was, it is their least D2C, which is a guess.
    """
    if len(ios) == 0:
        return np.empty(0, np.int64), np.empty(0, bool)
    lone = np.flatnonzero(_alone(ios))
    bucket = _alike(ios)
    n_buckets = int(bucket.max()) + 1
    service = ios.completed - ios.issued
    least = np.full(n_buckets, np.iinfo(np.int64).max)
    np.minimum.at(least, bucket, service)
    order = lone[np.lexsort((service[lone], bucket[lone]))]
    begin = np.searchsorted(bucket[order], np.arange(n_buckets), "left")
    end = np.searchsorted(bucket[order], np.arange(n_buckets), "right")
    guessed = end - begin < ALONE_MIN
    solo = least.copy()
    solo[~guessed] = service[order[(begin + (end - begin) // 2)[~guessed]]]
    return solo[bucket], guessed[bucket]


def least_service_ns(ios: Ios, io: Index, size: Times) -> Times:
    """Return the least D2C of each size, on the device and of the kind of ``io``.

    At powers of two it is the least of all ios at least as large, as what a device did with much,
    it could have done with less; between them, it is a straight line. Ios that go to
    the media count only if there are no others, as they may wait for all that the cache has.
    """
    n_buckets = 34  # sizes are below 2^32, and one has a power of two beyond it
    _, dev = np.unique(ios.dev, return_inverse=True)
    group = (dev.astype(np.int64) << 8 | ios.op) * n_buckets
    groups = np.unique(group)
    service = ios.completed - ios.issued
    row_of_io, result = np.searchsorted(groups, group[io]), np.zeros(len(io), np.int64)
    unknown = np.iinfo(np.int64).max
    for plain in (False, True):
        chosen = np.flatnonzero(~ios.to_media) if plain else np.arange(len(ios))
        row = np.searchsorted(groups, group[chosen])
        least = np.full((len(groups), n_buckets), unknown)
        np.minimum.at(least, (row, size_bucket(ios)[chosen]), service[chosen])
        least = np.minimum.accumulate(least[:, ::-1], axis=1)[:, ::-1]
        bucket, row = np.log2(np.maximum(size, 1)).astype(np.int64), row_of_io
        found, beyond = least[row, bucket], least[row, bucket + 1]
        beyond = np.where(beyond < unknown, beyond, found)
        part = np.maximum(size, 1) / (np.int64(1) << bucket) - 1
        found = np.where(found < unknown, found + (part * (beyond - found)).astype(np.int64), found)
        result = np.where(found < unknown, found, result)
    return result
