"""A user's own knobs, in a TOML file.

[knobs."vm.swappiness"]
path = "/proc/sys/vm/swappiness"
what = "how willingly anonymous memory is swapped out"
unit = "%"
scale = "linear"
low = 0
high = 100
default = 60
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs import rcp, stock
from rcp.tuner.knobs.cell import Cell, ChosenCell, FileCell, PairCell
from rcp.tuner.knobs.handle import Handle
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.knobs.tree import Tree

_KEYS: dict[str, type | tuple[type, ...]] = {
    "path": str,
    "what": str,
    "unit": str,
    "scale": str,
    "default": (int, str),
    "low": int,
    "high": int,
    "safe_low": int,
    "safe_high": int,
    "choices": list,
    "helps": list,
    "needs": dict,
    "at_most": str,
}
_TYPES = {str: "a text", int: "a whole number", (int, str): "a number or a text"}
_TYPES |= {list: "a list", dict: "a table"}
_SCALES = ("linear", "log", "choice")


@dataclass(frozen=True)
class KnobsFile:
    """A file of knobs, read once: a study holds its text. Its errors name the place in it."""

    name: str
    """Its path, or of which study it is."""
    text: str

    def error(self, where: str, fault: str) -> KnobError:
        """Return the error for a key, given with its tables."""
        return KnobError(f"{self.name}: {where}: {fault}")

    def tables(self) -> Mapping[str, Any]:
        """Return the tables of knobs."""
        try:
            table = tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            raise KnobError(f"{self.name}: it is not TOML: {error}.") from error
        tables = table.get("knobs")
        if not isinstance(tables, dict) or not tables:
            raise self.error("knobs", 'missing: write a table [knobs."NAME"] for each knob.')
        return tables


def read_knobs_file(path: Path) -> KnobsFile:
    """Return the file of knobs at *path*; raises KnobError if it cannot be read."""
    try:
        return KnobsFile(str(path), path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise KnobError(f"{path}: cannot be read: {reason}.") from error


def _typed(file: KnobsFile, where: str, table: Any) -> dict[str, Any]:
    if not isinstance(table, dict):
        raise file.error(where, f"it is not a table: write [{where}].")
    for key, value in table.items():
        if key not in _KEYS:
            raise file.error(f"{where}.{key}", f"unknown key: the keys are {', '.join(_KEYS)}.")
        kind = _KEYS[key]
        if isinstance(value, bool) or not isinstance(value, kind):
            raise file.error(f"{where}.{key}", f"{value!r} is not {_TYPES[kind]}.")
    for key in ("path", "default"):
        if key not in table:
            raise file.error(f"{where}.{key}", "missing: every knob needs it.")
    return table


def _needs(file: KnobsFile, where: str, table: dict[str, Any]) -> dict[str, tuple[Any, ...]]:
    for name, values in table.get("needs", {}).items():
        if not isinstance(values, list):
            raise file.error(f"{where}.needs.{name}", f"{values!r} is not a list of values.")
    return {name: tuple(values) for name, values in table.get("needs", {}).items()}


def _knob(file: KnobsFile, name: str, entry: Any) -> Knob:
    where = f"knobs.{name}"
    table = _typed(file, where, entry)
    scale = table.get("scale", "choice" if "low" not in table else "linear")
    if scale not in _SCALES:
        raise file.error(f"{where}.scale", f"{scale!r} is not one of {', '.join(_SCALES)}.")
    low, high = table.get("low", 0), table.get("high", 0)
    if scale == "choice" and not table.get("choices"):
        raise file.error(f"{where}.choices", "missing: give low and high, or the values to try.")
    if scale != "choice" and not low < high:
        raise file.error(f"{where}.high", f"{high} must be more than low, which is {low}.")
    if scale == "log" and low < 1:
        raise file.error(f"{where}.low", f"{low} has no logarithm: write at least 1.")
    knob = Knob(
        name=name,
        what=table.get("what", ""),
        unit=table.get("unit", ""),
        backend="file",
        default=table["default"],
        scale=scale,
        low=low,
        high=high,
        choices=tuple(table.get("choices", ())),
        safe_low=table.get("safe_low"),
        safe_high=table.get("safe_high"),
        needs=_needs(file, where, table),
        at_most=table.get("at_most", ""),
        helps=tuple(table.get("helps", ())),
    )
    if not knob.allows(knob.default):
        raise file.error(f"{where}.default", f"{knob.default!r} is not one of the allowed values.")
    return knob


def file_knobs(
    tree: Tree, file: KnobsFile, disk: str, *, with_gone: bool = False
) -> Iterator[tuple[Knob, Handle]]:
    """Yield the knobs of a file; ``{disk}`` in a path stands for the disk. Raises KnobError.

    *with_gone*: knobs whose path does not exist are no error.
    """
    for name, table in file.tables().items():
        knob = _knob(file, name, table)
        place = table["path"].replace("{disk}", disk)
        where = f"knobs.{name}.path"
        if not place.startswith(("/sys/", "/proc/sys/")) or ".." in place.split("/"):
            raise file.error(where, f"{place} is not below /sys or /proc/sys.")
        if not tree.exists(place) and not knob.needs and not with_gone:
            raise file.error(where, f"there is no {place} on this machine.")
        built_in = _built_in(tree, place, disk)
        if built_in is not None and built_in.name != name:
            raise file.error(where, f"{place} belongs to {built_in.name}: give it that name.")
        yield knob, built_in or Handle(name, _cell(tree, place))


def _built_in(tree: Tree, place: str, disk: str) -> Handle | None:
    """Return the built-in handle of a file, which knows what a write of it changes; or None."""
    has_disk = tree.exists(f"/sys/block/{disk}/queue/scheduler")
    found = [*stock.vm_knobs(tree)]
    if has_disk:
        found += [*stock.disk_knobs(tree, disk), *stock.scheduler_knobs(tree, disk)]
    if rcp.available(tree):
        found += rcp.rcp_knobs(tree)
        found += rcp.iosched_knobs(tree, disk) if has_disk else []
    for _, handle in found:
        cell = handle.cell
        pair = (cell.bytes_place, cell.ratio_place) if isinstance(cell, PairCell) else ()
        if place in (getattr(cell, "place", ""), *pair):
            return handle
    return None


def _cell(tree: Tree, place: str) -> Cell:
    chosen = tree.exists(place) and "[" in tree.read(place)
    return ChosenCell(place) if chosen else FileCell(place)
