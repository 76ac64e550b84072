"""Names of kernel functions by address, from /proc/kallsyms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

_DIGITS = 16
_TEXT = np.frombuffer(b"tTwW", np.uint8)
_NIBBLES = np.zeros(256, np.uint64)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


_CORE_END = b" _etext\n"

UNKNOWN = "[unknown]"
"""Name of what has none."""


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


@cache
def kallsyms(root: Path = Path("/")) -> bytes:
    """Return the file, empty where there is none (CONFIG_KALLSYMS=n).

    It is read once in a process: the kernel takes half a second of the lab's time to write it.
    """
    return _read(root / "proc/kallsyms")


def symbols_now() -> bytes:
    """Return the file as it is now: with the functions of modules that were loaded since."""
    return _read(Path("/proc/kallsyms"))


@dataclass(frozen=True)
class _Table:
    """A kallsyms file: its functions' addresses in ascending order, and where their lines begin."""

    data: bytes
    addresses: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.intp]
    core_end: int
    """End of the kernel's own functions: other addresses are of modules. 0 where not known."""


def _table(data: bytes) -> _Table:
    letters = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero(letters == ord("\n"))[:-1] + 1
    starts = np.concatenate(([0], starts)) if len(data) else starts
    starts = starts[np.isin(letters[starts + _DIGITS + 1], _TEXT)]
    digits = _NIBBLES[letters[starts[:, None] + np.arange(_DIGITS)]]
    shifts = np.arange(4 * (_DIGITS - 1), -1, -4).astype(np.uint64)
    addresses = np.bitwise_or.reduce(digits << shifts, axis=1)
    order = np.argsort(addresses, kind="stable")
    end = data.find(_CORE_END)
    core_end = int(data[end - _DIGITS - 2 : end - 2], 16) if end >= 0 else 0
    return _Table(data, addresses[order], starts[order], core_end)


class KernelSymbols:
    """Which function an address is in; the file is read at the first question.

    A line is 16 digits, a type, a name, and after a tab its module. There are 150,000, so numpy
    reads their addresses, and only names that are asked for are decoded.

    A module loaded later has functions beyond the core kernel's, which are not in the file that was
    read: at such an address the file is read again, if the list of modules has changed.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """*root* has ``proc``."""
        self._root = root
        self._read_table: _Table | None = None
        self._modules: frozenset[bytes] = frozenset()

    def _now(self) -> _Table:
        if self._read_table is None:
            self._modules = self._loaded_modules()
            self._read_table = _table(kallsyms(self._root))
        return self._read_table

    def _loaded_modules(self) -> frozenset[bytes]:
        """Return name and address of each module: the other columns change as it is used."""
        lines = (line.split() for line in _read(self._root / "proc/modules").splitlines())
        return frozenset(b" ".join((*line[:1], *line[5:6])) for line in lines)

    def load(self) -> None:
        """Read the file now."""
        self._now()

    def name(self, address: int) -> str:
        """Return the function that *address* is in, ``UNKNOWN`` when there is none.

        Beyond the core kernel, that is code with no name in the file, such as BPF's trampolines.
        """
        table = self._now()
        if table.core_end and address >= table.core_end:
            modules = self._loaded_modules()
            if modules != self._modules:
                self._modules = modules
                table = self._read_table = _table(_read(self._root / "proc/kallsyms"))
        place = int(np.searchsorted(table.addresses, np.uint64(address), side="right")) - 1
        if place < 0 or not table.addresses[place]:
            return UNKNOWN
        begin = int(table.starts[place]) + _DIGITS + 3
        line = table.data[begin : table.data.index(b"\n", begin)]
        name, module, _ = line.partition(b"\t")
        if table.core_end and address >= table.core_end and not module:
            return UNKNOWN
        return name.decode(errors="replace")
