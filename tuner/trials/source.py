"""Where a trial's latencies come from: the workload's stdout, or files it writes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from rcp.analyzer.latencies.files import AUTO
from rcp.analyzer.latencies.formats import BY_NAME
from rcp.analyzer.latencies.latency import LatencyError, UnitMissingError
from rcp.probes.contract.durations import UNITS_NS
from rcp.probes.contract.user_error import UserError

LINES, RECORDING = "lines", "recording"
OUT_PLACEHOLDER = "{out}"

_FORMAT = re.compile(r"[a-z][a-z0-9-]*")


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
    elif colon and _FORMAT.fullmatch(head) and (OUT_PLACEHOLDER in rest or "/" in rest):
        known = ", ".join(sorted(BY_NAME))
        raise SourceError(f"unknown format {head!r} in --source {text}: write one of {known}.")
    if not text:
        raise SourceError("the source of latencies is empty: write lines, or the path of a file.")
    return Source(text, format, unit)
