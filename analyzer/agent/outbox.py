"""Summaries on their way to a fleet: one that cannot be reached now gets them later."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.place import add


def send_all(outbox: Path, fleet: str) -> tuple[int, list[str]]:
    """Move the summaries in *outbox*, oldest first; return how many are left, and why.

    A summary has the same place in any fleet, so sending one twice does no harm.
    """
    waiting = sorted(outbox.rglob("*.parquet"), key=lambda path: (path.stat().st_mtime, path))
    for n_sent, path in enumerate(waiting):
        try:
            add(fleet, path.relative_to(outbox).as_posix(), path)
        except (FleetError, OSError) as error:
            n_left = len(waiting) - n_sent
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            return n_left, [f"{fleet} takes no summaries: {why.rstrip('.')}; {n_left} wait."]
        path.unlink()
    return 0, []
