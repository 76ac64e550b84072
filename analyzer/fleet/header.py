"""What a summary says of its recording: where, when, how complete, and its worst requests."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import Any

VERSION = 1
"""Increased when a column changes its meaning or goes. A reader leaves other versions out."""

KEY = "rcp.summary"
"""Key of the header, as JSON, among the metadata of the Parquet file."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_SHA256 = re.compile(r"[0-9a-f]{64}")


class HeaderError(Exception):
    """A header cannot be used; the message says what it is instead."""


class OtherVersionError(HeaderError):
    """A summary was written by an rcp with another schema."""


@dataclass(frozen=True)
class Exemplar:
    """One of the worst requests of a recording, to be looked up in it."""

    kind: str
    request_id: int
    ts: int
    """Start, in ns of the recording's own clock."""
    dur_ns: int
    blocked_ns: int
    culprit: str
    pattern: str


@dataclass(frozen=True)
class SummaryHeader:
    """Facts about the recording that a summary is of."""

    recording: str
    """Hash of the recording: two summaries with one are of one recording."""
    host: str
    day: str
    """The day in UTC on which the recording began."""
    begin_ns: int
    """When it began, in ns since 1970 by the host's clock; 0 when that is not known."""
    dur_ns: int
    kernel: str = ""
    machine: str = ""
    n_cpus: int = 0
    rcp: str = ""
    is_virtual: bool = False
    """Recorded in the lab's virtual time."""
    n_written: int = 0
    """Events of all probes that were recorded."""
    n_lost: int = 0
    n_missing: int = 0
    """Events that were recorded but are damaged or cut off."""
    n_requests_lost: int = 0
    n_unfinished: int = 0
    """Foreground requests that did not finish."""
    incomplete: str = ""
    """What the recording no longer has, as a sentence; "" if it is whole."""
    losses: dict[str, list[int]] = field(default_factory=dict)
    """By probe: events recorded, lost, missing."""
    exemplars: list[Exemplar] = field(default_factory=list)

    @property
    def is_lossy(self) -> bool:
        """Whether there was more than the summary counts."""
        return bool(self.n_lost or self.n_missing or self.incomplete)

    @property
    def end_ns(self) -> int:
        """Return when the recording ended, by the host's clock."""
        return self.begin_ns + self.dur_ns

    def as_json(self) -> str:
        """Return the header as it is stored; equal headers make equal texts."""
        return json.dumps({"version": VERSION, **asdict(self)}, sort_keys=True)


def day_of(realtime_ns: int) -> str:
    """Return the day in UTC of a time since 1970."""
    return datetime.fromtimestamp(realtime_ns / 1e9, UTC).strftime("%Y-%m-%d")


def is_day(text: str) -> bool:
    """Tell whether a text is a day as ``day_of`` writes it."""
    try:
        return bool(_DAY.fullmatch(text) and datetime.strptime(text, "%Y-%m-%d"))
    except ValueError:
        return False


def from_json(text: str | None) -> SummaryHeader:
    """Return a stored header; raise HeaderError."""
    if text is None:
        raise HeaderError("it is no summary of rcp")
    try:
        values: dict[str, Any] = json.loads(text)
        version = values.pop("version")
        if version != VERSION:
            raise OtherVersionError(f"it has schema version {version}, this rcp reads {VERSION}")
        exemplars = [Exemplar(**one) for one in values.pop("exemplars")]
        losses = {
            probe: [int(written), int(lost), int(missing)]
            for probe, (written, lost, missing) in values.pop("losses", {}).items()
        }
        header = SummaryHeader(exemplars=exemplars, losses=losses, **values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise HeaderError("its header is damaged") from error
    if not (_SHA256.fullmatch(header.recording) and is_day(header.day)):
        raise HeaderError("its header is damaged")
    return header
