"""Where a trial's latencies come from: the workload's stdout, or files it writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.latencies.files import AUTO
from rcp.analyzer.latencies.formats import BY_NAME
from rcp.analyzer.latencies.latency import LatencyError, UnitMissingError
from rcp.probes.contract.durations import UNIT_NAMES, UNITS_NS
from rcp.probes.contract.user_error import UserError

LINES, RECORDING = "lines", "recording"
OUT_PLACEHOLDER = "{out}"

_BARE_WORD = re.compile(r"[\w-]+")
"""A word that names no place; a path to such a file may begin with ``./``."""


class SourceError(UserError):
    """A source cannot be parsed; the message names it, the fault and the remedy."""


@dataclass(frozen=True)
class Source:
    """A file, with ``{out}`` in its path for the trial's folder; no path: lines on stdout."""

    path: str = ""
    format: str = AUTO
    unit: str | None = None

    def within(self, out: Path) -> Source:
        """Return the source with ``{out}`` replaced by the trial's folder."""
        return Source(self.path.replace(OUT_PLACEHOLDER, str(out)), self.format, self.unit)

    def explained(self, error: LatencyError) -> str:
        """Return an error's message; it says how ``--source`` gives a unit that is missing."""
        if not isinstance(error, UnitMissingError):
            return str(error)
        path = ":PATH" if self.path else ""
        return error.asking(f"--source {error.format}:ms{path} (or ns, us, s)")


def parse_source(text: str) -> Source:
    """Return the source of ``lines``, ``lines:UNIT``, ``PATH`` or ``FORMAT:[UNIT:]PATH``."""
    head, colon, rest = text.partition(":")
    if head == LINES and (not rest or rest in UNITS_NS):
        return Source(unit=rest or None)
    format, unit = AUTO, None
    if colon and head in BY_NAME:
        text, format = rest, head
        head, colon, rest = text.partition(":")
        if colon and head in UNITS_NS:
            text, unit = rest, head
    elif _is_typo(head) and not _exists(text):
        raise SourceError(_unknown(head, text))
    if not text:
        raise SourceError("the source of latencies is empty: write lines, or the path of a file.")
    if format == LINES and unit is None and _is_typo(text):
        raise SourceError(
            f"unknown unit {text!r} in --source {LINES}:{text}: write one of {UNIT_NAMES}, or "
            f"{LINES}:./{text} for a file of that name."
        )
    return Source(text, format, unit)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:  # longer than the name of a file may be
        return False


def _is_typo(word: str) -> bool:
    """Return whether a word names no file, and none that a trial could write elsewhere."""
    return _BARE_WORD.fullmatch(word) is not None and not _exists(word)


def _unknown(word: str, text: str) -> str:
    """Return the error for a *word* that begins a source, and is no format and no file."""
    known = ", ".join(sorted(BY_NAME))
    if word != text:
        told = f"unknown format {word!r} in --source {text}: write one of {known}"
    else:
        told = (
            f"unknown --source {text}: write {RECORDING}, {LINES}, or FORMAT:FILE with one of the "
            f"formats {known}"
        )
    return f"{told}, or ./{text} for a file of that name."
