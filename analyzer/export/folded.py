"""Folded stacks: ``frame;frame;frame N`` a line, as flame graph tools read them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import IO

from rcp.analyzer.db.store import Store
from rcp.analyzer.export.selection import Selection
from rcp.analyzer.export.stacks import Stack, blocked

_NS_PER_US = 1000


def _frame(name: str) -> str:
    """Return a frame without what separates frames and lines."""
    return name.replace(";", ":").replace("\n", " ")


def lines(stacks: Iterable[Stack]) -> Iterator[str]:
    """Yield a line per stack with its time in whole microseconds.

    What rounding leaves over goes to the next line, so that the sum is right to a microsecond
    however many short waits there are.
    """
    left_ns = 0
    for stack in stacks:
        us, left_ns = divmod(stack.dur_ns + left_ns, _NS_PER_US)
        if us:
            yield f"{';'.join(map(_frame, stack.frames))} {us}"


def write_folded(store: Store, selection: Selection, out: IO[bytes]) -> None:
    """Write where the chosen requests were blocked to a file opened for bytes."""
    for line in lines(blocked(store, selection.request_ids)):
        out.write(f"{line}\n".encode())
