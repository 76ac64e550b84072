"""What an agent keeps on disk: the oldest goes when there is too much of it, or when it is old.

FOLDER/window.spool       the last seconds (see rolling)
FOLDER/recordings/        dumps: NAME.duckdb, or NAME.spool until it is loaded
FOLDER/fleet/             summaries
FOLDER/work/              what an analysis is at work on
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

_AHEAD_S = 60.0
"""A file system's times are of its server; such small differences are no step of the clock."""
WINDOW, RECORDINGS, FLEET, WORK = "window.spool", "recordings", "fleet", "work"


@dataclass(frozen=True)
class Item:
    """A recording or a summary on disk."""

    path: Path
    written_s: float
    """When it was last written, in s since 1970."""
    size_bytes: int

    def delete(self) -> None:
        """Remove it. Raises OSError only where that is not possible at all."""
        if self.path.is_dir():
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self.path.unlink(missing_ok=True)


def _size_bytes(path: Path) -> int:
    """Return the space that a file, or all in a folder, takes; 0 for what has just gone."""
    try:
        own = path.stat().st_blocks * 512  # not its length: a spool has holes on a full disk
        return own + sum(map(_size_bytes, path.iterdir())) if path.is_dir() else own
    except OSError:
        return 0


def _item(path: Path) -> Item | None:
    try:
        return Item(path, path.stat().st_mtime, _size_bytes(path))
    except OSError:  # an analysis has just renamed it
        return None


class Rotation:
    """Bounds size and age of what is in an agent's folder."""

    def __init__(
        self,
        folder: Path,
        max_bytes: int,
        max_age_s: float,
        clock_s: Callable[[], float] = time.time,
    ) -> None:
        """``max_bytes`` is for all in *folder* together."""
        self._folder, self._max_bytes, self._max_age_s = folder, max_bytes, max_age_s
        self._clock_s = clock_s
        self.n_deleted = {"age": 0, "size": 0, "disk full": 0}
        """Recordings and summaries that were deleted, by reason."""
        self.used_bytes = 0
        """As of the last look."""

    def _items(self, in_use: Collection[Path]) -> Iterator[Item]:
        for path in (self._folder / RECORDINGS).glob("*"):
            if path not in in_use and (item := _item(path)):
                yield item
        for path in (self._folder / FLEET).rglob("*.parquet"):
            if item := _item(path):
                yield item

    def step(self, in_use: Collection[Path] = ()) -> None:
        """Delete what is too old, then the oldest until the rest is small enough."""
        items = sorted(self._items(in_use), key=self._order)
        oldest_s = self._clock_s() - self._max_age_s
        self.used_bytes = _size_bytes(self._folder)
        for item in items:
            if item.written_s < oldest_s:
                self._delete(item, "age")
            elif self.used_bytes > self._max_bytes:
                self._delete(item, "size")

    def free_some(self, in_use: Collection[Path] = ()) -> bool:
        """Delete the oldest recording because the disk is full; False if there is none left."""
        items = list(self._items(in_use))
        if not items:
            return False
        self._delete(min(items, key=self._order), "disk full")
        return True

    def _order(self, item: Item) -> tuple[bool, float, Path]:
        """What sorts the oldest first; what is of the future is of before the clock was set."""
        return item.written_s <= self._clock_s() + _AHEAD_S, item.written_s, item.path

    def _delete(self, item: Item, why: str) -> None:
        item.delete()
        self.used_bytes -= item.size_bytes
        self.n_deleted[why] += 1
