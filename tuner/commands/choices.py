"""What words on a command line choose: groups of tasks, a set of knobs, a disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import Which
from rcp.tuner.knobs.files import read_knobs_file
from rcp.tuner.knobs.group_cell import Group
from rcp.tuner.knobs.tree import Tree

_KNOB_SETS: tuple[Literal["auto", "rcp", "stock"], ...] = ("auto", "rcp", "stock")


def parsed_rule(noun: str, text: str) -> tuple[str, str]:
    """Return kind and value of a rule such as ``comm:GLOB``; raises TuneError."""
    kind, _, value = text.partition(":")
    is_known = kind in ("comm", "cgroup") or (kind == "pid" and value.isdigit())
    if not is_known or not value.strip("/"):
        raise TuneError(f"bad {noun} {text!r}: write comm:GLOB, pid:N or cgroup:PATH")
    return kind, value


def group_of(rules: Sequence[str]) -> Group:
    """Return the group of *rules* (``comm:GLOB``, ``pid:N``, ``cgroup:PATH``); raises TuneError."""
    comms: list[str] = []
    pids: list[int] = []
    cgroup = ""
    for kind, value in (parsed_rule("group", rule) for rule in rules):
        if kind == "comm":
            comms.append(value)
        elif kind == "pid":
            pids.append(int(value))
        else:
            cgroup = value.strip("/")
    return Group(tuple(comms), tuple(pids), cgroup)


def which_knobs(text: str) -> Which:
    """Return the value of ``--knobs``: rcp, stock, auto, or a TOML file; raises TuneError."""
    for known in _KNOB_SETS:
        if text == known:
            return known
    if not Path(text).is_file():
        raise TuneError(f"--knobs {text}: no such file: write rcp, stock, auto or a TOML file")
    return read_knobs_file(Path(text))


def disk_of(name: str | None, tree: Tree) -> str:
    """Return the disk to tune, without /dev/; raises TuneError unless it is unique or named."""
    if name:
        return name.removeprefix("/dev/")
    disks = [
        disk
        for disk in tree.names("/sys/block")
        if not disk.startswith(("loop", "ram", "zram", "sr", "dm-", "md"))
    ]
    if len(disks) == 1:
        return disks[0]
    raise TuneError(f"this machine has {len(disks)} disks ({', '.join(disks)}): name one by --disk")
