"""Folded stacks for flame graph tools: one ``frame;frame;frame N`` per line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from rcp.analyzer.db.store import Store
from rcp.analyzer.export.stacks import Stack, blocked
from rcp.analyzer.selection import Selection
from rcp.probes.contract.printing.spelled import spelled_text

_NS_PER_US = 1000


def _frame(name: str) -> str:
    """Return a frame without the separators of frames and lines, and without control characters.

    Those are not allowed in the SVG that is drawn from it.
    """
    return spelled_text(name.replace(";", ":"))


def lines(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield a line per stack with its time in whole microseconds.

    The remainder of rounding is carried to the next line. So the sum is exact to a microsecond,
    even with many short waits.
    """
    left_ns = 0
    for stack in stacks:
        us, left_ns = divmod(stack.dur_ns + left_ns, _NS_PER_US)
        if us:
            yield f"{';'.join(map(_frame, stack.frames))} {us}"


def write_folded(store: Store, selection: Selection, out: IO[bytes]) -> None:
    """Write the blocked time of the selected requests to a binary file."""
    for line in lines(blocked(store, selection.request_ids)):
        out.write(f"{line}\n".encode())
