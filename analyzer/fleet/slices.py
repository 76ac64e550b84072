"""Parts of a fleet, as users write them: ``day=2026-01-02,kernel=6.12*``. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.header import SummaryHeader

ALL_DAYS, LAST_DAY = "all", "last"
KEYS = ("day", "host", "kernel", "rcp", "machine")
"""What a slice can be chosen by; fields of a summary's header."""


@dataclass(frozen=True)
class FleetSlice:
    """A part of a fleet: what each key must match."""

    text: str
    globs: tuple[tuple[str, str], ...] = ()

    def has(self, header: SummaryHeader) -> bool:
        """Tell whether a summary is in it."""
        return all(fnmatchcase(getattr(header, key), glob) for key, glob in self.globs)

    @property
    def day(self) -> str | None:
        """Return the one day it is of, None if it can be of several."""
        days = [glob for key, glob in self.globs if key == "day" and not set("*?[") & set(glob)]
        return days[0] if days else None


def parse(text: str) -> FleetSlice:
    """Return a slice; raise FleetError."""
    globs = []
    for term in filter(None, (part.strip() for part in text.split(","))):
        key, equals, glob = term.partition("=")
        if not equals or key not in KEYS or not glob:
            raise FleetError(
                f"{term!r} is no part of a fleet: write {', '.join(f'{k}=…' for k in KEYS)}, "
                "as in day=2026-01-31,kernel=6.12*."
            )
        globs.append((key, glob))
    return FleetSlice(text or ALL_DAYS, tuple(globs))
