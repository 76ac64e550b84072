"""Names of kernel functions by address, from /proc/kallsyms."""

from __future__ import annotations

from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_DIGITS = 16
_TEXT = np.frombuffer(b"tTwW", np.uint8)
_NIBBLES = np.zeros(256, np.uint64)
_NIBBLES[np.frombuffer(b"0123456789abcdef", np.uint8)] = np.arange(16)


@cache
def kallsyms(root: Path = Path("/")) -> bytes:
    """Return the file, empty where there is none (CONFIG_KALLSYMS=n).

    It is read once in a process: the kernel takes half a second of the lab's time to write it.
    """
    try:
        return (root / "proc/kallsyms").read_bytes()
    except OSError:
        return b""


class KernelSymbols:
    """Which function an address is in; the file is read at the first question.

    A line is 16 digits, a type, a name, and after a tab its module. There are 150,000, so numpy
    reads their addresses, and only names that are asked for are decoded.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        """*root* has ``proc``."""
        self._root = root

    @cached_property
    def _table(self) -> tuple[bytes, npt.NDArray[np.uint64], npt.NDArray[Any]]:
        """The file, the functions' addresses in ascending order, and where their lines begin."""
        data = kallsyms(self._root)
        letters = np.frombuffer(data, np.uint8)
        starts = np.flatnonzero(letters == ord("\n"))[:-1] + 1
        starts = np.concatenate(([0], starts)) if len(data) else starts
        starts = starts[np.isin(letters[starts + _DIGITS + 1], _TEXT)]
        digits = _NIBBLES[letters[starts[:, None] + np.arange(_DIGITS)]]
        shifts = np.arange(4 * (_DIGITS - 1), -1, -4).astype(np.uint64)
        addresses = np.bitwise_or.reduce(digits << shifts, axis=1)
        order = np.argsort(addresses, kind="stable")
        return data, addresses[order], starts[order]

    def load(self) -> None:
        """Read the file now."""
        _ = self._table

    def name(self, address: int) -> str:
        """Return the function that *address* is in, "[unknown]" when there is none."""
        data, addresses, starts = self._table
        place = int(np.searchsorted(addresses, np.uint64(address), side="right")) - 1
        if place < 0 or not addresses[place]:
            return "[unknown]"
        begin = int(starts[place]) + _DIGITS + 3
        line = data[begin : data.index(b"\n", begin)]
        return line.partition(b"\t")[0].decode(errors="replace")
