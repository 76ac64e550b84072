"""One recording of many: found by its name, and asked by whichever worker gets it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import StoreError
from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.reports.doubts import lacks
from rcp.probes.contract.spool import PACKED_SUFFIX, is_spool

STORE_SUFFIX = ".duckdb"


class Partial(NamedTuple):
    """The answer of one recording, or why it has none."""

    answer: bytes
    """Arrow table of the rows; empty if there is none."""
    why_not: str = ""
    lack: str = ""
    """What the recording lacks, as a sentence; "" if that is little."""


def ask_partition(path: str, sql: str) -> Partial:
    """Ask one recording, on one CPU: the other CPUs have recordings of their own.

    This is all that a worker runs. It returns rows only; errors are of the recording.
    """
    try:
        with open_recording(Path(path)) as store:
            store.write("SET threads = 1")
            lack = lacks(facts(store))
            return Partial(store.ask_packed(sql), lack=lack)
    except (StoreError, OSError) as error:
        return Partial(b"", str(error).rstrip("."))


def _walk(folder: Path) -> Iterator[Path]:
    for one in sorted(folder.iterdir()):
        if one.name.startswith("."):
            continue
        if one.name.endswith((STORE_SUFFIX, PACKED_SUFFIX)) or is_spool(one):
            yield one
        elif one.is_dir() and not one.is_symlink():
            yield from _walk(one)


def recordings_in(directory: str) -> dict[str, str]:
    """Return the recordings below a folder, by their path in it; raise FleetError."""
    root = Path(directory)
    if not root.is_dir():
        raise FleetError(
            f"{directory} is not a folder: give one with recordings, or ask a single one with "
            "`rcp-trace sql`."
        )
    found = {path.relative_to(root).as_posix(): str(path.absolute()) for path in _walk(root)}
    if not found:
        raise FleetError(f"{directory} has no recordings: copy .duckdb files or spools there.")
    return found
