"""Lines of a user's own program: each has a latency, or a result by name.

    1.25ms                          a request took 1.25 ms
    fsync 830us                     one of kind fsync
    830                             a latency whose unit is given elsewhere
    background=123456 bytes/s       a result, for an objective
    # anything                      ignored

For streams too: ``feed`` data as it comes, ``drain`` at any time.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from rcp.analyzer.latencies.latency import (
    Latencies,
    LatencyError,
    Times,
    UnitMissingError,
    to_ns,
    unit_ns,
)
from rcp.analyzer.latencies.rows import numbers_of
from rcp.analyzer.text import truncated
from rcp.probes.contract.durations import UNITS_NS

NO_KIND = "request"
"""Kind of latencies without a kind of their own."""

_DECIMAL = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?(?i:nan|inf)"
_TIME_UNITS = b"ns|us|\xc2\xb5s|\xce\xbcs|ms|s"
_LATENCY_LINE = re.compile(
    rb"^[ \t]*(?:([A-Za-z_][\w.:/+-]*)[ \t]+)?("
    + _DECIMAL
    + rb")[ \t]*("
    + _TIME_UNITS
    + rb")?\s*$",
    re.MULTILINE,
)
_RESULT = re.compile(
    rb"^[ \t]*([A-Za-z_][\w.-]*)[ \t]*=[ \t]*("
    + _DECIMAL
    + rb")[ \t]*([A-Za-z\xb5\xc2/%]*)[ \t]*\r?$"
)
_SCALES = {
    **dict.fromkeys(("", "%", "/s", "B", "bytes", "B/s", "bytes/s", "ops/s", "iops", "tps"), 1.0),
    "kB/s": 1e3,
    "MB/s": 1e6,
    "GB/s": 1e9,
    "KiB/s": 2.0**10,
    "MiB/s": 2.0**20,
    "GiB/s": 2.0**30,
}
"""Factors of results, by unit."""

_KIND = re.compile(rb"[A-Za-z_][\w.:/+-]*")
_EMPTY_LINE = re.compile(rb"\n[ \t\r]*\n")
_OF_NUMBERS = frozenset(b"0123456789.eE+-\r\n \t")

_PRINT = "print one latency a line (1.25ms, fsync 830us) or name=number, anything else on stderr"
_SHOWN_CHARS = 40


class LineReader:
    """Reads lines in pieces. Messages name ``source``; *unit* applies to numbers without one.

    With *results_only* every line that is not a result is ignored: the latencies are elsewhere.
    """

    def __init__(self, source: str, unit: str | None = None, results_only: bool = False) -> None:
        """Raise LatencyError when there is no such unit."""
        self._results_only = results_only
        self.source = source
        self._unit = unit
        self._bare_ns = unit_ns(unit, source) if unit else None
        self._rest = b""
        self._n_lines = 0
        self._has_unit: bool | None = None  # of the lines so far
        self._parts: dict[str, list[Times]] = {}
        self._values: dict[str, float] = {}

    def feed(self, data: bytes, first_line: int | None = None) -> None:
        """Read data, which may end anywhere; raise LatencyError on a bad line.

        *first_line* is the number of its first line, if that is not the next one.
        """
        if first_line is not None:
            self._n_lines = first_line - 1
        whole, newline, rest = (self._rest + data).rpartition(b"\n")
        self._rest = rest
        if newline:
            self._take(whole + newline)

    def finish(self) -> None:
        """Read the end of the data; raise LatencyError when the last line is incomplete."""
        if self._rest.strip() and not self._results_only:
            raise LatencyError(
                f"{self.source} ends in the middle of a line, {_quoted(self._rest)}: "
                "end every line with a newline."
            )

    def drain(self) -> Latencies:
        """Return the latencies and results since the last call."""
        by_kind = {kind: np.concatenate(parts) for kind, parts in self._parts.items()}
        values, self._parts, self._values = self._values, {}, {}
        return Latencies(self.source, by_kind, values=values)

    def _take(self, lines: bytes) -> None:
        n_lines = lines.count(b"\n")
        if self._results_only:
            self._keep_results(lines)
        elif not self._take_alike(lines, n_lines):
            self._take_any(lines, n_lines)
        self._n_lines += n_lines

    def _keep_results(self, lines: bytes) -> None:
        for line in lines.splitlines():
            match = _RESULT.match(line)
            scale = _SCALES.get(match[3].decode(errors="replace")) if match else None
            if match and scale and np.isfinite(float(match[2])):
                self._values[match[1].decode()] = float(match[2]) * scale

    def _take_any(self, lines: bytes, n_lines: int) -> None:
        found = _LATENCY_LINE.findall(lines)
        if len(found) != n_lines:
            lines = self._without_results(lines)
            found = _LATENCY_LINE.findall(lines)
        if found:
            self._add(found, lines)

    def _take_alike(self, lines: bytes, n_lines: int) -> bool:
        """Read lines with one unit, and all with or all without a kind, without a regex per line.

        Returns False for lines that the regex might refuse: those are left to it.
        """
        first = _LATENCY_LINE.match(lines.partition(b"\n")[0])
        if first is None:
            return False
        kind, unit = first[1] or b"", first[3] or b""
        scale = UNITS_NS[unit.decode()] if unit else self._bare_ns
        if scale is None or self._has_unit not in (None, bool(unit)):
            return False
        if lines.count(unit + b"\n") != n_lines:
            return False
        kinds: tuple[bytes, ...] = (kind,)
        begun = b"\n" + lines
        if begun.count(b"\n" + kind) == n_lines + (not kind):
            numbers = begun.replace(b"\n" + kind, b"\n")
        else:
            kinds, numbers = _parted(lines, n_lines)
        values = _one_per_line(numbers.replace(unit + b"\n", b"\n"), n_lines)
        if values is None or not (np.isfinite(values) & (values >= 0)).all():
            return False
        self._has_unit = bool(unit)
        self._keep(kinds, to_ns(values, scale, self.source))
        return True

    def _without_results(self, lines: bytes) -> bytes:
        """Store results; return the lines, empty but for those with latencies."""
        latencies = []
        for number, line in enumerate(lines.splitlines(), self._n_lines + 1):
            is_latency = _LATENCY_LINE.match(line)
            latencies.append(line if is_latency else b"")
            if is_latency or not line.strip() or line.lstrip().startswith(b"#"):
                continue
            self._keep_result(line, number)
        return b"\n".join(latencies) + b"\n"

    def _keep_result(self, line: bytes, number: int) -> None:
        where = f"{self.source} line {number}"
        match = _RESULT.match(line)
        if match is None:
            raise LatencyError(
                f"{where} is neither a latency nor a result, {_quoted(line)}: {_PRINT}."
            )
        name, value, unit = (group.decode(errors="replace") for group in match.groups())
        if unit in UNITS_NS:
            raise LatencyError(
                f"{where} is a time with a name, {_quoted(line)}: "
                f"print a latency as `{name} {value}{unit}`, or a result without a time unit."
            )
        if unit not in _SCALES:
            raise LatencyError(
                f"{where} has the unknown unit {unit!r}: write bytes/s, MB/s, MiB/s, /s or none."
            )
        if not np.isfinite(float(value)):
            raise LatencyError(
                f"{where} is not a number, {_quoted(line)}: leave out what was not measured."
            )
        self._values[name] = float(value) * _SCALES[unit]

    def _add(self, found: list[tuple[bytes, bytes, bytes]], lines: bytes) -> None:
        kinds, numbers, units = zip(*found, strict=True)
        values = np.array([float(number) for number in numbers])
        names = set(units)
        bare = b"" in names
        mixed = len(names) > 1 if bare else False
        if self._has_unit is not None:
            mixed = mixed or self._has_unit == bare
        is_bad = not np.isfinite(values).all() or bool((values < 0).any())
        if mixed or is_bad or (bare and self._bare_ns is None):
            self._complain(lines)
        self._has_unit = not bare
        times = to_ns(values, self._scales(units, names), self.source)
        self._keep(kinds, times)

    def _scales(
        self, units: tuple[bytes, ...], names: set[bytes]
    ) -> float | npt.NDArray[np.float64]:
        by_unit = {name: float(UNITS_NS.get(name.decode(), self._bare_ns or 1)) for name in names}
        if len(names) == 1:
            return next(iter(by_unit.values()))
        return np.array([by_unit[unit] for unit in units])

    def _keep(self, kinds: tuple[bytes, ...], times: Times) -> None:
        names = set(kinds)
        column = np.array(kinds) if len(names) > 1 else None
        for name in names:
            chosen = times if column is None else times[column == name]
            self._parts.setdefault(name.decode() or NO_KIND, []).append(chosen)

    def _complain(self, lines: bytes) -> None:
        """Raise the error of the first line that has one."""
        for number, line in enumerate(lines.splitlines(), self._n_lines + 1):
            match = _LATENCY_LINE.match(line)
            if match is None:
                continue
            where, has_unit = f"{self.source} line {number}", match[3] is not None
            value = float(match[2])
            if not np.isfinite(value):
                raise LatencyError(
                    f"{where} is not a number, {_quoted(line)}: leave out what was not measured."
                )
            if value < 0:
                raise LatencyError(f"{where} is negative, {_quoted(line)}: use a monotonic clock.")
            if self._has_unit is not None and self._has_unit != has_unit:
                fault = (
                    "has a unit, earlier lines have none"
                    if has_unit
                    else "has no unit, earlier lines have one"
                )
                raise LatencyError(f"{where} {fault}, {_quoted(line)}: print it on every line.")
            if not has_unit and self._bare_ns is None:
                raise UnitMissingError(
                    f"{where} has no unit, {_quoted(line)}", f"print one ({match[2].decode()}ms)"
                )
            self._has_unit = has_unit


def _parted(lines: bytes, n_lines: int) -> tuple[tuple[bytes, ...], bytes]:
    """Return the first and the second words of lines that all have two; else empty ones."""
    letters = np.frombuffer(lines, np.uint8)
    blanks, ends = np.flatnonzero(letters == ord(" ")), np.flatnonzero(letters == ord("\n"))
    words = lines.split()
    kinds = tuple(words[::2])
    if (
        len(words) != 2 * n_lines
        or len(blanks) != n_lines
        or (blanks > ends).any()
        or (blanks[1:] < ends[:-1]).any()
        or not all(map(_KIND.fullmatch, set(kinds)))
    ):
        return (), b""
    return kinds, b"\n".join(words[1::2]) + b"\n"


def _one_per_line(text: bytes, n_lines: int) -> npt.NDArray[np.float64] | None:
    """Return the numbers of *text* if each of its lines has one, else None."""
    if set(text) - _OF_NUMBERS or _EMPTY_LINE.search(text):
        return None
    values = numbers_of(text, np.float64)
    return values if values is not None and len(values) == n_lines else None


def _quoted(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(truncated(text, _SHOWN_CHARS))


def is_lines(head: bytes) -> bool:
    """Whether a file with this head has such lines: the first one that is not a comment decides."""
    for line in head.splitlines():
        if line.strip() and not line.lstrip().startswith(b"#"):
            return bool(_LATENCY_LINE.match(line) or _RESULT.match(line))
    return False
