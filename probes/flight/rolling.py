"""A spool of the last seconds only, in pieces of which the oldest are deleted.

Records of tasks, files and stacks stay: a thread that was recorded an hour ago still needs its
name. They are bounded: first threads that ended before the window are removed, then the oldest.
The files are at any time a spool that ``rcp-trace recover`` loads.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.events import (
    BY_NAME,
    CGROUP,
    CGROUP_LIMIT,
    FILE,
    RECORDS,
    TASK,
    Record,
    TaskFlag,
)
from rcp.probes.contract.spool import Spool, SpoolWriter, open_spool
from rcp.probes.contract.spooling.frames import CoveredFile, frames_path

LASTING = (TASK, FILE, CGROUP, CGROUP_LIMIT)
"""Record types that are not deleted with the window."""

_PIECES = 8  # of a window, which may be up to one piece longer than --keep
_SHORTEST_PIECE_NS = 250_000_000  # bounds how often files are created and deleted
_LASTING_ROWS_MAX = 131_072  # 8 MiB of tasks: twice the 65536 threads that the BPF side follows

Counters = Mapping[str, Mapping[str, list[int]]]
Extra = Mapping[str, npt.NDArray[np.void]]


def counters_since(now: Counters, then: Counters) -> dict[str, dict[str, list[int]]]:
    """Return the counts since ``then``."""
    return {
        kind: {
            name: [n - m for n, m in zip(per_cpu, then[kind][name], strict=True)]
            if name in then.get(kind, {})
            else list(per_cpu)
            for name, per_cpu in by_name.items()
        }
        for kind, by_name in now.items()
    }


def _with_lost(counters: Counters, lost: Mapping[str, int]) -> dict[str, dict[str, list[int]]]:
    """Return the counts with more lost records; they have no CPU, so the first one has them."""
    found = {kind: dict(by_name) for kind, by_name in counters.items()}
    for name, n in lost.items():
        first, *others = found.setdefault("lost", {}).get(name) or [0]
        found["lost"][name] = [first + n, *others]
    return found


@dataclass
class _Piece:
    """Part of the window: files ``<record>.<number>.bin``."""

    number: int
    started_ns: int
    counters: Counters
    """The counters when it was started."""
    size_bytes: int = 0
    files: dict[str, CoveredFile] = field(default_factory=dict)
    """Closed, but for those of the newest piece."""


class RollingSpool(SpoolWriter):
    """A spool that deletes records older than ``keep_ns``.

    ``max_bytes`` bounds the window on disk; a larger window is shortened.
    """

    def __init__(
        self,
        path: Path,
        meta: dict[str, Any],
        keep_ns: int,
        max_bytes: int,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Make the folder, as SpoolWriter does."""
        self._pieces: list[_Piece] = []
        super().__init__(path, meta)
        self._keep_ns, self._max_bytes, self._clock_ns = keep_ns, max_bytes, clock_ns
        self._piece_ns = max(keep_ns // _PIECES, _SHORTEST_PIECE_NS)
        self._counters: Counters = {}
        self._unwritten: Counter[str] = Counter()
        """Records that a full disk did not take, by type."""
        self._begin_piece(clock_ns())
        self._n_thinned = 0
        self.n_cut_short = 0
        """How often the window was shortened to stay below ``max_bytes``."""

    @property
    def window_ns(self) -> tuple[int, int]:
        """Start and end of the window."""
        return self._pieces[0].started_ns, self._clock_ns()

    @property
    def spooled(self) -> dict[str, int]:
        """Records in the window and lasting ones, and stacks, by type."""
        counts = super().spooled
        for piece in self._pieces:
            for name, file in piece.files.items():
                counts[name] += file.n_rows
        return counts

    def _begin_piece(self, now_ns: int) -> None:
        if self._pieces:
            self._close_files(self._pieces[-1])
        number = self._pieces[-1].number + 1 if self._pieces else 1
        self._pieces.append(_Piece(number, now_ns, self._counters))

    def _file_of(self, piece: _Piece, record: Record) -> Path:
        return self.path / f"{record.name}.{piece.number:09}.bin"

    def append(self, record: Record, rows: npt.NDArray[np.void]) -> None:
        """Append ``rows``: LASTING types to their one file, others to the newest piece."""
        if not len(rows):
            return
        piece = self._pieces[-1]
        files = self._files if record in LASTING else piece.files
        n_promised = files[record.name].n_rows if record.name in files else 0
        try:
            if record.name not in files:
                files[record.name] = self._create(self._file_of(piece, record), record)
            size = files[record.name].append(rows)
        except OSError:
            # What frames promise is known to be missing; the rest must be counted here.
            if record.name not in files or files[record.name].n_rows == n_promised:
                self._unwritten[record.name] += len(rows)
            raise
        if record not in LASTING:
            piece.size_bytes += size
        self.written_bytes += size

    def write_counters(self, counters: dict[str, Any], sync: bool = False) -> None:
        """Write the counters of the window. Not synced by default, as its records are not.

        A sync every second would delay all other writers of the same file system.
        """
        self._counters = _with_lost(counters, self._unwritten)
        self._write_own_counters(sync)

    def _write_own_counters(self, sync: bool = False) -> None:
        since = counters_since(self._counters, self._pieces[0].counters)
        super().write_counters(since, sync)

    def roll(self) -> None:
        """Begin a new piece if due, and delete pieces beyond ``keep_ns`` or ``max_bytes``."""
        now_ns = self._clock_ns()
        newest = self._pieces[-1]
        too_large = newest.size_bytes > self._max_bytes // _PIECES
        if now_ns - newest.started_ns >= self._piece_ns or too_large:
            self._begin_piece(now_ns)
        # The second piece's start is the first one's end.
        while len(self._pieces) > 1 and self._pieces[1].started_ns <= now_ns - self._keep_ns:
            self._delete_oldest()
        while len(self._pieces) > 1 and sum(p.size_bytes for p in self._pieces) > self._max_bytes:
            self._delete_oldest()
            self.n_cut_short += 1
        for record in LASTING:
            if self._files[record.name].n_rows > _LASTING_ROWS_MAX:
                self._thin_out(record)

    def _delete_oldest(self) -> None:
        piece = self._pieces.pop(0)
        self._close_files(piece)
        try:
            # First, so that a recorder that is killed here promises no records that are gone.
            self._write_own_counters()
        finally:  # on a full disk above all
            for name in piece.files:
                path = self._file_of(piece, BY_NAME[name])
                frames_path(path).unlink(missing_ok=True)
                path.unlink(missing_ok=True)

    def _thin_out(self, record: Record) -> None:
        """Remove threads that ended before the window; then the older half, if still too many."""
        rows = np.array(open_spool(self.path).records(record))
        if record == TASK:
            rows = without_exited(rows, self._pieces[0].started_ns)
        if len(rows) > _LASTING_ROWS_MAX // 2:
            rows = rows[-_LASTING_ROWS_MAX // 2 :]
        older = [path for path in self.path.glob(f"{record.name}.*") if path.suffix == ".bin"]
        self._n_thinned += 1
        path = self.path / f"{record.name}.{self._n_thinned:09}.bin"
        temporary = path.with_name(f".{path.name}")
        file = self._create(temporary, record, path.name)
        file.append(rows)
        # Records without frames do not count: until the second rename, the older ones do. Then both
        # do for a moment, which does no harm.
        temporary.replace(path)
        frames_path(temporary).replace(frames_path(path))
        self._files[record.name].close()
        self._files[record.name] = file
        self._write_own_counters()
        for old in older:
            frames_path(old).unlink(missing_ok=True)
            old.unlink(missing_ok=True)

    def _close_files(self, piece: _Piece) -> None:
        for file in piece.files.values():
            file.close()

    def dump(self, path: Path, meta: dict[str, Any], end: dict[str, Any], extra: Extra) -> int:
        """Write the window as a spool at ``path``; return its bytes.

        ``extra`` are rows to add, by record type: unfinished requests.
        """
        window = open_spool(self.path)
        writer = SpoolWriter(path, meta)
        for record in RECORDS:
            for rows in window.pieces(record):
                writer.append(record, rows)
            writer.append(record, extra.get(record.name, np.empty(0, record.dtype)))
        writer.append_stacks(window.stacks().items())
        writer.write_counters(self._counters_of(window))
        writer.close(end)
        return writer.written_bytes

    def _counters_of(self, window: Spool) -> dict[str, Any]:
        """Return the counters of the window; what a full disk has kept from it counts as lost."""
        counters = counters_since(self._counters, self._pieces[0].counters)
        for record in RECORDS:
            missing = window.n_missing(record)
            if missing:
                counters = _with_lost(counters, {record.name: missing})
        return counters

    def close(self, end: dict[str, Any]) -> None:
        """Finish the spool."""
        self._close_files(self._pieces[-1])
        super().close(end)


def without_exited(rows: npt.NDArray[np.void], since_ns: int) -> npt.NDArray[np.void]:
    """Return task records without those of threads that ended before ``since_ns``."""
    ended = rows[(rows["flags"] & TaskFlag.EXITED != 0) & (rows["ts"] < since_ns)]
    if not len(ended):
        return rows
    # Tids recur: remove the records of a tid up to its last exit, not later ones.
    tids, last = np.unique(ended["tid"][::-1], return_index=True)
    ended_ns = ended["ts"][::-1][last]
    at = np.minimum(np.searchsorted(tids, rows["tid"]), len(tids) - 1)
    gone = (tids[at] == rows["tid"]) & (rows["ts"] <= ended_ns[at])
    rest: npt.NDArray[np.void] = rows[~gone]
    return rest
