"""Which summaries an answer rests on, and which are missing from it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.db.arrow import ParquetError, parquet_metadata
from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.header import (
    KEY,
    HeaderError,
    OtherVersionError,
    SummaryHeader,
    from_json,
)
from rcp.analyzer.fleet.listing import Entry, Failure, Listing
from rcp.analyzer.fleet.losses import recorded_share

CLOCK_AHEAD_NS = 5 * 60 * 10**9
"""A recording cannot end after its summary arrived; clocks that are disciplined differ by less."""

_FOOTER_READERS = 4  # reading a footer is mostly waiting for the disk


class Summary(NamedTuple):
    """A summary whose header was read."""

    entry: Entry
    header: SummaryHeader


@dataclass
class Catalog:
    """The summaries of a fleet that can be merged, and what became of the others."""

    name: str
    summaries: list[Summary] = field(default_factory=list)
    failed: list[Failure] = field(default_factory=list)
    other_schema: list[Failure] = field(default_factory=list)
    duplicates: list[Failure] = field(default_factory=list)
    """Of one recording that is in the fleet twice, the second."""

    def without(self, failures: Sequence[Failure]) -> None:
        """Leave out summaries whose rows turned out to be damaged."""
        places = {failure.place for failure in failures}
        self.failed += failures
        self.summaries = [one for one in self.summaries if one.entry.place not in places]


class ClockAhead(NamedTuple):
    """A host whose clock is ahead of that of the fleet's storage."""

    host: str
    by_ns: int


class LossyHost(NamedTuple):
    """A host of whose events some were lost or are missing."""

    host: str
    n_lost: int
    n_written: int
    lost_share: float
    """Of its sleeps and ios, on which verdicts rest, 0 to 1; the counts are of all events."""
    why: str
    """What a recording no longer has; "" if only the recorder lost events."""


class Coverage(NamedTuple):
    """What an answer rests on."""

    n_expected: int | None
    """Hosts in the list of --hosts; None without one."""
    n_hosts: int
    n_summaries: int
    missing: list[str]
    """Expected hosts without a summary that could be read."""
    unexpected: list[str]
    failed: list[Failure]
    other_schema: list[Failure]
    duplicates: list[Failure]
    lossy: list[LossyHost]
    clocks: list[ClockAhead]

    @property
    def is_complete(self) -> bool:
        """Whether nothing that belongs to the answer was left out."""
        return not (self.missing or self.failed or self.other_schema)


def _header(entry: Entry) -> SummaryHeader | HeaderError:
    try:
        return from_json(parquet_metadata(entry.path).get(KEY))
    except HeaderError as error:
        return error
    except ParquetError:
        return HeaderError("it is cut short or damaged")
    except OSError as error:
        return HeaderError(f"it cannot be read ({error.strerror})")


def read_catalog(listing: Listing) -> Catalog:
    """Return the catalog of what a fleet has; raise FleetError if nothing can be read."""
    catalog = Catalog(listing.name, failed=list(listing.failures))
    catalog.other_schema = [
        Failure(name, "it is of another schema") for name in listing.other_roots
    ]
    seen: dict[str, SummaryHeader] = {}
    with ThreadPoolExecutor(_FOOTER_READERS) as pool:
        for entry, header in zip(listing.entries, pool.map(_header, listing.entries), strict=True):
            if isinstance(header, OtherVersionError):
                catalog.other_schema.append(Failure(entry.place, str(header)))
            elif isinstance(header, HeaderError):
                catalog.failed.append(Failure(entry.place, str(header)))
            elif header.recording in seen:
                first = seen[header.recording]
                why = f"its recording is there as host {first.host}, {first.day}"
                catalog.duplicates.append(Failure(entry.place, why))
            else:
                seen[header.recording] = header
                catalog.summaries.append(Summary(entry, header))
    return catalog


def check_any(catalog: Catalog, what: str = "") -> None:
    """Raise FleetError when no summary is left to answer from."""
    if catalog.summaries:
        return
    left_out = [*catalog.failed, *catalog.other_schema]
    if not left_out:
        raise FleetError(f"{catalog.name} has no summaries of {what}: choose another part.")
    first, more = left_out[0], len(left_out) - 1
    others = f", and {more} more" if more else ""
    raise FleetError(
        f"{catalog.name} has no summary that can be read ({first.place}: {first.why}{others}): "
        "add them again with `rcp-trace summary`, or update rcp."
    )


def read_hosts(path: Path) -> list[str]:
    """Return the hosts that a file lists, one a line; ``#`` begins a comment."""
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    hosts = sorted({line.partition("#")[0].strip() for line in lines} - {""})
    if not hosts:
        raise FleetError(f"{path} lists no hosts: write one a line.")
    return hosts


def _ahead(summaries: Iterable[Summary]) -> list[ClockAhead]:
    now_ns = time.time_ns()
    worst: dict[str, int] = {}
    for entry, header in summaries:
        if header.is_virtual or not header.begin_ns:
            continue
        by_ns = header.end_ns - min(entry.changed_ns, now_ns)
        if by_ns > CLOCK_AHEAD_NS:
            worst[header.host] = max(by_ns, worst.get(header.host, 0))
    return [ClockAhead(host, by_ns) for host, by_ns in sorted(worst.items())]


def _lossy(summaries: Iterable[Summary]) -> list[LossyHost]:
    by_host: dict[str, list[SummaryHeader]] = {}
    for _, header in summaries:
        by_host.setdefault(header.host, []).append(header)
    found = []
    for host, headers in sorted(by_host.items()):
        lossy = [one for one in headers if one.is_lossy]
        if lossy:
            n_lost = sum(one.n_lost + one.n_missing for one in lossy)
            n_written = sum(one.n_written for one in lossy)
            why = next((one.incomplete for one in lossy if one.incomplete), "")
            found.append(LossyHost(host, n_lost, n_written, 1 - recorded_share(headers), why))
    return found


def coverage(catalog: Catalog, expected: Sequence[str] | None) -> Coverage:
    """Return what the summaries of a catalog cover."""
    hosts = {summary.header.host for summary in catalog.summaries}
    return Coverage(
        n_expected=None if expected is None else len(expected),
        n_hosts=len(hosts),
        n_summaries=len(catalog.summaries),
        missing=sorted({*expected} - hosts) if expected is not None else [],
        unexpected=sorted(hosts - {*expected}) if expected is not None else [],
        failed=catalog.failed,
        other_schema=catalog.other_schema,
        duplicates=catalog.duplicates,
        lossy=_lossy(catalog.summaries),
        clocks=_ahead(catalog.summaries),
    )
