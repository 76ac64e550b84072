"""Compare the present values of knobs with those that they should have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from rcp.tuner.errors import KnobGoneError, KnobRefusedError
from rcp.tuner.knobs.cell import RoundedCell
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree

EQUAL: Literal["equal"] = "equal"
DIFFERENT: Literal["different"] = "different"
MISSING: Literal["missing"] = "missing"

# What the kernel may make of a number: a time in ms is rounded up to jiffies (HZ of 1000, 300, 250
# or 100), a size in KiB down to logical blocks (of 1, 2 or 4 KiB).
_JIFFIES_MS = (1, 10 / 3, 4, 10)
_BLOCKS_KIB = (1, 2, 4)

_OF_A_PROFILE = ("rcp.", "iosched.")


class Checked(NamedTuple):
    """One knob: what it should be and what it is."""

    knob: str
    wanted: Value
    found: Value | None
    """None if it is missing."""
    state: Literal["equal", "different", "missing"]
    why: str = ""
    """Why it is missing, or equal in spite of another word."""


def missing(knob: str, wanted: Value, why: str) -> Checked:
    """Return the result for a knob that this machine does not have."""
    return Checked(knob, wanted, None, MISSING, why)


def checked(tree: Tree, wanted: Sequence[tuple[Handle, Value]]) -> list[Checked]:
    """Compare each knob with its value. Raises KnobError for a knob that may not be read."""
    names = [handle.name for handle, _ in wanted]
    return [_checked(tree, handle, value, names) for handle, value in wanted]


def _checked(tree: Tree, handle: Handle, value: Value, names: Iterable[str]) -> Checked:
    cell = handle.cell
    try:
        state = cell.state(tree)
    except (KnobGoneError, KnobRefusedError) as error:
        return missing(handle.name, value, str(error).rstrip("."))
    if cell.kind == "ioprio" and not state:
        return missing(handle.name, value, "no such task runs")
    found = cell.value(state)
    if cell.same(state, cell.state_of(tree, value)) or _is_rounded(handle, value, found):
        return Checked(handle.name, value, found, EQUAL)
    if cell.kind == "profile" and found == "custom":
        singles = [name for name in names if name.startswith(_OF_A_PROFILE) and name != handle.name]
        if singles:
            # A write of any of its knobs after it makes a profile read so.
            return Checked(handle.name, value, found, EQUAL, f"for {singles[0]} is set too")
    return Checked(handle.name, value, found, DIFFERENT)


def _is_rounded(handle: Handle, wanted: Value, found: Value) -> bool:
    if not isinstance(handle.cell, RoundedCell):
        return False
    if not isinstance(wanted, int) or not isinstance(found, int):
        return False
    up = {int(-(-wanted // jiffy) * jiffy) for jiffy in _JIFFIES_MS}
    down = {wanted - wanted % block for block in _BLOCKS_KIB}
    return found in (down if handle.cell.place.endswith("_kb") else up)
