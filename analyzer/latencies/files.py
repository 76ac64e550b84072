"""Opens files of latencies: recognizes the format and reads a file whole or while it grows."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.latencies.columns import has_column
from rcp.analyzer.latencies.declared import Format, PieceParser
from rcp.analyzer.latencies.document import head_of
from rcp.analyzer.latencies.fio_log import latency_logs
from rcp.analyzer.latencies.formats import BY_NAME, FORMATS
from rcp.analyzer.latencies.generators.others import check_known
from rcp.analyzer.latencies.latency import Latencies, LatencyError, merged
from rcp.analyzer.latencies.rows import PIECE_BYTES, Piece, pieces_of

AUTO = "auto"

_UNFORESEEN = (
    *(ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError),
)
"""What reading can end with if a file is not as its reader expects; most readers tell more."""

_GZIP = b"\x1f\x8b"


def open_latencies(path: Path | str, format: str = AUTO, unit: str | None = None) -> Latencies:
    """Return the latencies of a file, of several (``out/*.log``), or of ``FILE:column``.

    In formats whose programs choose the file names (pgbench, fio-log) a path may also be the prefix
    that the program was given. *unit* applies to numbers without one. Raises LatencyError.
    """
    known = _named(format)
    found, column = _split(str(path), known)
    parts = [_read(one, column, known or _format_of(one, column), unit) for one in found]
    latencies = merged(parts, str(path))
    if not latencies.kinds:
        if latencies.failures is not None:
            latencies.failures.check_some(path)
        raise LatencyError(f"{path} has no latencies: let the program run longer.")
    return latencies


def _named(name: str) -> Format | None:
    if name != AUTO and name not in BY_NAME:
        raise LatencyError(f"unknown format {name!r}: known are {_known()}.")
    return BY_NAME.get(name)


def _known() -> str:
    return ", ".join(BY_NAME)


def _split(path: str, known: Format | None) -> tuple[list[Path], str]:
    """Return the files and the column that a user named."""
    if Path(path).exists():
        return latency_logs([Path(path)]), ""
    several = _matching(path, known)
    if several:
        return several, ""
    file, colon, column = path.rpartition(":")
    if colon and Path(file).exists():
        return [Path(file)], column
    raise LatencyError(f"{path} does not exist: check what the program writes, and where.")


def _matching(pattern: str, known: Format | None) -> list[Path]:
    """Return the files that match a shell pattern, or begin with a program's prefix; sorted."""
    found = _glob(pattern)
    if not found and known is not None and known.of_prefix:
        found = _glob(pattern + known.of_prefix)
    return latency_logs(found)


def _glob(pattern: str) -> list[Path]:
    start = Path("/") if pattern.startswith("/") else Path()
    return sorted(start.glob(pattern.lstrip("/"))) if pattern.strip("/") else []


def _format_of(path: Path, column: str = "") -> Format:
    """Return the format of a file; raise LatencyError when it is unknown.

    A *column* that the first line names makes any file a table.
    """
    head = head_of(path) if path.is_file() else b""
    if path.is_file() and not head.strip():
        raise LatencyError(f"{path} is empty: the program wrote no latencies.")
    if head.startswith(_GZIP):
        raise LatencyError(f"{path} is compressed: unpack it first, with gunzip.")
    found = next((known for known in FORMATS if known.looks_like(path, head)), None)
    is_column = bool(column) and has_column(head, column)
    if not column and (found is None or found.is_catch_all):
        check_known(path, head)  # a user who names a column knows the file
    if found is None and is_column:
        found = BY_NAME["csv"]
    if found is None:
        raise LatencyError(f"{path} is in an unknown format: known are {_known()}.")
    return found


def _read(path: Path, column: str, known: Format, unit: str | None) -> Latencies:
    if column and not known.takes_column:
        raise LatencyError(f"{path}:{column}: {known.name} has no columns to name: write {path}.")
    try:
        if known.start is None:
            assert known.read is not None
            return known.read(path, column, unit)
        parse = known.start(str(path), unit)
        parts = [parse(piece) for piece in pieces_of(path)]
        return merged(parts or [Latencies(str(path))], str(path))
    except _UNFORESEEN as error:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise LatencyError(
            f"{path} is damaged, or not as {known.name} files are known ({told}): run the program "
            "again, or name the format."
        ) from error


class Growing:
    """Files that a program is writing: ``poll`` returns the latencies since the last call.

    Only formats of lines are read while they grow; other files are ignored.
    """

    def __init__(
        self, path: str, format: str = AUTO, unit: str | None = None, *, from_end: bool = False
    ) -> None:
        """*from_end* skips what is already in the files. Raises LatencyError."""
        self._pattern, self._format, self._unit = path, _named(format), unit
        self._files: dict[Path, _GrowingFile] = {}
        self._find()
        if from_end:
            for file in self._files.values():
                file.skip()

    def _find(self) -> None:
        single = Path(self._pattern)
        for path in [single] if single.is_file() else _matching(self._pattern, self._format):
            self._files.setdefault(path, _GrowingFile(path, self._format, self._unit))

    def poll(self) -> Latencies:
        """Return the latencies of new whole lines; raise LatencyError."""
        self._find()
        parts = [part for file in self._files.values() for part in file.poll()]
        return merged(parts or [Latencies(self._pattern)], self._pattern)


class _GrowingFile:
    def __init__(self, path: Path, known: Format | None, unit: str | None) -> None:
        self._path, self._known, self._unit = path, known, unit
        self._offset, self._n_lines = 0, 0
        self._parse: PieceParser | None = None

    def skip(self) -> None:
        """Go to the end of the last whole line."""
        for piece in pieces_of(self._path, may_be_torn=True):
            self._offset += len(piece.data)
            self._n_lines += piece.n_lines

    def poll(self) -> list[Latencies]:
        size = self._path.stat().st_size
        if size < self._offset:
            raise LatencyError(f"{self._path} was truncated while it was read: do not rotate it.")
        if size == self._offset:
            return []
        if self._known is None:
            if b"\n" not in head_of(self._path):  # half a line may look like another format's
                return []
            self._known = _format_of(self._path)
        if self._known.start is None:
            return []
        if self._parse is None:
            self._parse = self._known.start(str(self._path), self._unit)
        return [self._parse(piece) for piece in self._new()]

    def _new(self) -> list[Piece]:
        pieces = list(
            pieces_of(
                self._path,
                offset=self._offset,
                first_line=self._n_lines + 1,
                may_be_torn=True,
                piece_bytes=PIECE_BYTES,
            )
        )
        self._offset += sum(len(piece.data) for piece in pieces)
        self._n_lines += sum(piece.n_lines for piece in pieces)
        return pieces
