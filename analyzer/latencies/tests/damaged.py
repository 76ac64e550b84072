"""Damages whole files, and says what may be read of them then.

* A cut file is refused, or has the figures of the whole one. Where a format's lines do not say how
  many follow (``Whole.LINE``), a file that is cut at a line's end has the first requests.
* Two lines in one are refused, or change nothing.
* A changed byte changes one request at most, where every request has a line. Nothing tells a digit
  from another one; among counts, it may change all of them.

Whatever is not read is refused by a LatencyError of one line: there is no third way.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

from rcp.analyzer.latencies.declared import Whole
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.tests.samples import Sample

CUT, JOINED, FLIPPED = "cut", "joined", "flipped"
PLACES = 200
"""Places within lines at which a sample is cut."""


class DamageError(AssertionError):
    """Something was read of a damaged file that is not there."""


def figures(found: Latencies) -> tuple[object, ...]:
    """Return what is judged, without the file's name."""
    return (
        found.kinds,
        found.n,
        {name: times.tolist() for name, times in found.by_kind.items()},
        {name: table.cumulative.tolist() for name, table in found.histograms.items()},
        {name: table.values_ns.tolist() for name, table in found.histograms.items()},
        {name: (dict(one.by_share), one.n) for name, one in found.points.items()},
        found.open_loop,
        None if found.outermost is None else found.outermost.tolist(),
        found.failures,
    )


def cuts(sample: Sample, rng: Random) -> Iterator[bytes]:
    """Yield a sample cut at every line, and at places within lines."""
    ends = [place + 1 for place, byte in enumerate(sample.data) if byte == ord("\n")]
    for place in (*ends, *(rng.randrange(len(sample.data)) for _ in range(PLACES))):
        yield sample.data[:place]


def cut(sample: Sample, rng: Random) -> bytes:
    """Return a sample cut at a line's end as often as within one."""
    ends = [place + 1 for place, byte in enumerate(sample.data[:-1]) if byte == ord("\n")]
    within = rng.randrange(len(sample.data))
    return sample.data[: rng.choice(ends) if ends and rng.random() < 0.5 else within]


def joined(sample: Sample, rng: Random) -> bytes:
    """Return a sample without the end of one of its lines."""
    ends = [place for place, byte in enumerate(sample.data[:-1]) if byte == ord("\n")]
    if not ends:
        return sample.data
    place = rng.choice(ends)
    return sample.data[:place] + sample.data[place + 1 :]


def flipped(sample: Sample, rng: Random) -> bytes:
    """Return a sample of which a byte has another bit."""
    data = bytearray(sample.data)
    data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


class Reader:
    """Reads damaged samples from a folder."""

    def __init__(self, folder: Path) -> None:
        """Write them into *folder*."""
        self._folder = folder
        self._whole: dict[str, Latencies] = {}

    def check(self, sample: Sample, kind: str, data: bytes) -> str:
        """Read a damaged sample; return what it came to, or raise DamageError."""
        if sample.name not in self._whole:
            whole = self._read(sample, sample.data)
            if whole is None:
                raise DamageError("the whole sample is refused")
            self._whole[sample.name] = whole
        found = self._read(sample, data)
        if found is None:
            return "refused"
        return _outcome(sample, kind, data, found, self._whole[sample.name])

    def _read(self, sample: Sample, data: bytes) -> Latencies | None:
        """Return what is read of *data*; None if it is refused, as it should be."""
        path = self._folder / sample.file
        path.write_bytes(data)
        try:
            return open_latencies(path)
        except LatencyError as error:
            if "\n" in str(error) or str(path) not in str(error):
                raise DamageError(f"no line about the file: {error}") from error
            return None


def _outcome(sample: Sample, kind: str, data: bytes, found: Latencies, whole: Latencies) -> str:
    if figures(found) == figures(whole):
        return "whole"
    if kind == CUT and sample.whole == Whole.LINE and _is_at_an_end(sample, data):
        _check_first(found, whole)
        return "shorter"
    if kind == FLIPPED and not sample.is_exact:
        return "other counts"
    if kind == FLIPPED and _n_other(found, whole) <= 1:
        return "one other request"
    raise DamageError(f"{_told(found)} where the whole has {_told(whole)}")


def _is_at_an_end(sample: Sample, data: bytes) -> bool:
    return data.endswith(b"\n") or sample.data[len(data) :].startswith(b"\n")


def _check_first(found: Latencies, whole: Latencies) -> None:
    """Raise DamageError unless the requests of *found* are the first of *whole*."""
    for kind, times in found.by_kind.items():
        if times.tolist() != whole.by_kind[kind][: len(times)].tolist():
            raise DamageError(f"{_told(found)} are not the first of {_told(whole)}")
    if found.n > whole.n or not set(found.kinds) <= set(whole.kinds):
        raise DamageError(f"{_told(found)} are more than {_told(whole)}")


def _n_other(found: Latencies, whole: Latencies) -> int:
    """Return how many requests differ between two files."""
    # The only kind's name may be that of a column that is optional.
    is_named = max(len(found.kinds), len(whole.kinds)) > 1
    a, b = (
        Counter(
            (kind * is_named, ns) for kind, times in one.by_kind.items() for ns in times.tolist()
        )
        for one in (found, whole)
    )
    return max((a - b).total(), (b - a).total())


def _told(found: Latencies) -> str:
    return f"{found.n} requests of {', '.join(found.kinds)}"
