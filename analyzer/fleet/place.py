"""The summaries of a fleet as local files: a folder's own, or copies of an object store's.

Summaries are small and read whole, so copies of them cost less than reading ranges of an object
store.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.layout import PARQUET, ROOT, part_named
from rcp.analyzer.fleet.listing import Entry, Listing, chosen_days, is_root
from rcp.analyzer.fleet.slices import ALL_DAYS, LAST_DAY
from rcp.probes.contract.atomic import atomic_replace

URL_MARK = "://"


def is_url(fleet: str) -> bool:
    """Tell whether a fleet is in an object store or the like."""
    return URL_MARK in fleet


@contextmanager
def opened(fleet: str, day: str | None = None) -> Iterator[Listing]:
    """List the summaries of a day, ``last``, or all, as local files; raise FleetError."""
    if not is_url(fleet):
        yield _local(fleet, day)
        return
    from rcp.analyzer.fleet.remote import copied

    with tempfile.TemporaryDirectory(prefix="rcp-fleet-") as folder:
        listing = Listing(fleet)
        listing.other_roots, places = copied(fleet, Path(folder), day, listing.failures)
        listing.entries = [
            Entry(place, Path(folder) / place, changed_ns) for place, changed_ns in places
        ]
        yield _checked(listing, day)


def _local(fleet: str, day: str | None) -> Listing:
    root = Path(fleet)
    if not root.is_dir():
        raise FleetError(
            f"{fleet} is not a folder: `rcp-trace summary FILE --fleet {fleet}` makes a fleet."
        )
    listing = Listing(fleet)
    names = sorted(entry.name for entry in os.scandir(root) if entry.is_dir())
    listing.other_roots = [name for name in names if name != ROOT and is_root(name)]
    found = sorted(entry.name for entry in _folders(root / ROOT) if entry.name.startswith("day="))
    for name in chosen_days((part_named(name, "day") for name in found), day):
        for host in _folders(root / ROOT / f"day={name}"):
            listing.entries += _entries(Path(host.path), root)
    listing.entries.sort()
    return _checked(listing, day)


def _folders(path: Path) -> list[os.DirEntry[str]]:
    try:
        return sorted((one for one in os.scandir(path) if one.is_dir()), key=lambda one: one.name)
    except FileNotFoundError:
        return []


def _entries(folder: Path, root: Path) -> Iterator[Entry]:
    for one in os.scandir(folder):
        # A name with a dot is a summary that is being written.
        if one.name.endswith(PARQUET) and not one.name.startswith("."):
            path = Path(one.path)
            yield Entry(path.relative_to(root).as_posix(), path, one.stat().st_mtime_ns)


def _checked(listing: Listing, day: str | None) -> Listing:
    if not (listing.entries or listing.failures or listing.other_roots):
        of = "" if day in (None, ALL_DAYS, LAST_DAY) else f" of {day}"
        raise FleetError(
            f"{listing.name} has no summaries{of}: add one with "
            f"`rcp-trace summary FILE --fleet {listing.name}`."
        )
    return listing


def add(fleet: str, place: str, made: Path) -> str:
    """Put the file *made* into a fleet as *place*, whole or not at all; return where it is."""
    if is_url(fleet):
        from rcp.analyzer.fleet.remote import put

        return put(fleet, place, made)
    target = Path(fleet) / place
    target.parent.mkdir(parents=True, exist_ok=True)
    with atomic_replace(target) as temporary:  # *made* may be on another file system
        shutil.copyfile(made, temporary)
    return str(target)
