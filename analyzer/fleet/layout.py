"""Where a summary is in a fleet: ``v1/day=2026-01-01/host=db17/SHA256.parquet``.

The name is the hash of the recording: what is uploaded twice is there once. Day and host are
folders, as engines that read Hive partitions expect them, so a reader of one day opens no other.
"""

from __future__ import annotations

from urllib.parse import quote, unquote

from rcp.analyzer.fleet.header import VERSION, SummaryHeader

ROOT = f"v{VERSION}"
PARQUET = ".parquet"


def place_of(header: SummaryHeader) -> str:
    """Return the path of a summary below the fleet's folder; hosts can have any name."""
    host = quote(header.host, safe="")
    if host.strip(".") == "":
        host = host.replace(".", "%2E")  # . and .. are folders already
    return f"{ROOT}/day={header.day}/host={host}/{header.recording}{PARQUET}"


def part_named(place: str, name: str) -> str:
    """Return the day or the host that a path names; "" if it names none."""
    for folder in place.split("/"):
        key, _, value = folder.partition("=")
        if key == name:
            return unquote(value)
    return ""
