"""The lines by which a file of ``keep`` says what it holds, so that ``verify`` need not parse it.

They are comments in every format, one JSON object each, short because udev refuses long lines::

    #: {"rcp-tune": 1, "disk": "sda", "disk_id": "naa.5002", "device": "8:0", "crc": 305419896}
    #: {"knob": "vm.dirty_bytes", "value": 67108864, "cell": {"kind": "pair", …}}
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rcp.tuner.errors import KnobError, TuneError
from rcp.tuner.knobs.disk import disk_id, disk_of_id
from rcp.tuner.knobs.handle import Handle, cell_from
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree

VERSION = 1
MADE_BY = "# Made by `rcp-tune keep"
_MARK = "#: "

INSTALLED = (
    "/etc/sysctl.d/60-rcp-tune.conf",
    "/etc/udev/rules.d/60-rcp-tune.rules",
    "/etc/systemd/system/rcp-tune.service",
    "/etc/tuned/rcp-tune/tuned.conf",
)
"""Where the heads of the files say to install them."""


class KeptError(TuneError):
    """A file of ``keep`` cannot be read."""


@dataclass(frozen=True)
class Kept:
    """What one file of ``keep`` sets."""

    path: Path
    disk: str
    disk_id: str
    device: str
    """MAJOR:MINOR of the disk when the file was made."""
    knobs: tuple[tuple[str, Value, dict[str, Any]], ...]
    """Name, value, and the cell as JSON."""
    edited: bool
    """Whether somebody changed the file since."""


def marks(disk: dict[str, str], knobs: Iterable[tuple[Handle, Value]], body: str) -> str:
    """Return the lines for a file with this *body* that sets *knobs*."""
    tables: list[dict[str, Any]] = [{"rcp-tune": VERSION, **disk, "crc": zlib.crc32(body.encode())}]
    tables += [
        {"knob": handle.name, "value": value, "cell": handle.to_json()["cell"]}
        for handle, value in knobs
    ]
    return "".join(f"{_MARK}{json.dumps(table)}\n" for table in tables)


def kept(path: Path, text: str) -> Kept | None:
    """Return what a file of this *text* sets; None if ``keep`` did not write it. Raises KeptError.

    A file of an rcp-tune that wrote no such lines is an error.
    """
    lines = [line[len(_MARK) :] for line in text.splitlines() if line.startswith(_MARK)]
    if not lines:
        if text.startswith(MADE_BY):
            raise KeptError(f"{path}: an older rcp-tune wrote it: write it again, by `keep`")
        return None
    try:
        head, *knobs = (json.loads(line) for line in lines)
        if head["rcp-tune"] != VERSION:
            raise KeptError(f"{path}: another release of rcp-tune wrote it: verify with that one")
        if not knobs:
            raise KeptError(f"{path}: it names no knob: write it again, by `rcp-tune keep`")
        found = tuple((one["knob"], one["value"], one["cell"]) for one in knobs)
        body = text.partition("\n\n")[2]
        edited = zlib.crc32(body.encode()) != head["crc"]
        return Kept(path, head["disk"], head["disk_id"], head["device"], found, edited)
    except (ValueError, KeyError, TypeError) as error:
        raise KeptError(f"{path}: its lines of rcp-tune are damaged: write it again") from error


def present_disk(tree: Tree, name: str, identity: str) -> str:
    """Return the present name of a disk, "" if it is gone; by *name* if it has no identity."""
    if identity:
        return name if disk_id(tree, name) == identity else disk_of_id(tree, identity)
    return name if tree.exists(f"/sys/block/{name}") else ""


def handles(tree: Tree, found: Kept, disk: str) -> list[tuple[Handle, Value]]:
    """Return the handles of a file's knobs, for the disk that is now called *disk*.

    If the disk is gone, *disk* is "", and so are its knobs. Raises KeptError.
    """
    device = tree.text(f"/sys/block/{disk}/dev") if disk else ""

    def moved(value: Any) -> Any:
        if not isinstance(value, str):
            return value
        if value == found.device:
            return device
        old, new = f"/sys/block/{found.disk}/", f"/sys/block/{disk or '-'}/"
        value = value.replace(old, new)
        return value.replace(f"/sys/class/bdi/{found.device}/", f"/sys/class/bdi/{device or '-'}/")

    try:
        return [
            (Handle(name, cell_from({key: moved(part) for key, part in cell.items()})), value)
            for name, value, cell in found.knobs
        ]
    except (KnobError, KeyError, TypeError, AttributeError) as error:
        raise KeptError(f"{found.path}: its lines of rcp-tune are damaged: write it again") from (
            error
        )
