"""From the words of a command line to the machine that trials are made on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import Which
from rcp.tuner.knobs.group_cell import Group, Groups
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.session.journal import DEFAULT_FOLDER
from rcp.tuner.trials.lab import LabMachine
from rcp.tuner.trials.local import LocalMachine
from rcp.tuner.trials.raw import SPOOL
from rcp.tuner.trials.source import OUT_PLACEHOLDER, RECORDING, Source, parse_source

_WORDS: tuple[Literal["auto", "rcp", "stock"], ...] = ("auto", "rcp", "stock")


def _rule(noun: str, text: str) -> tuple[str, str]:
    kind, _, value = text.partition(":")
    is_known = kind in ("comm", "cgroup") or (kind == "pid" and value.isdigit())
    if not is_known or not value.strip("/"):
        raise TuneError(f"bad {noun} {text!r}: write comm:GLOB, pid:N or cgroup:PATH")
    return kind, value


def group_of(rules: Sequence[str]) -> Group:
    """Return the tasks that *rules* (``comm:GLOB``, ``pid:N``, ``cgroup:PATH``) name."""
    comms: list[str] = []
    pids: list[int] = []
    cgroup = ""
    for kind, value in (_rule("group", rule) for rule in rules):
        if kind == "comm":
            comms.append(value)
        elif kind == "pid":
            pids.append(int(value))
        else:
            cgroup = value.strip("/")
    return Group(tuple(comms), tuple(pids), cgroup)


def _target(rule: str) -> list[str]:
    """Return the options of rcp-trace record that say the same; raises TuneError."""
    kind, value = _rule("target", rule)
    return [f"--{kind}", value]


def which_knobs(text: str) -> Which:
    """Return what ``--knobs`` names: rcp, stock, auto, or a TOML file."""
    for known in _WORDS:
        if text == known:
            return known
    if not Path(text).is_file():
        raise TuneError(f"--knobs {text}: no such file: write rcp, stock, auto or a TOML file")
    return Path(text)


def disk_of(name: str | None) -> str:
    """Return the disk to tune, without /dev/; raises TuneError when it has to be named."""
    if name:
        return name.removeprefix("/dev/")
    disks = [
        disk
        for disk in Tree().names("/sys/block")
        if not disk.startswith(("loop", "ram", "zram", "sr", "dm-", "md"))
    ]
    if len(disks) == 1:
        return disks[0]
    raise TuneError(f"this machine has {len(disks)} disks ({', '.join(disks)}): name one by --disk")


def lab_machine(options: Mapping[str, Any]) -> LabMachine:
    """Return guests that run the scenario that *options* name; raises TuneError."""
    if options["workload"]:
        raise TuneError("a scenario of the lab has its own workload: leave out what is after --")
    return LabMachine(
        options["lab"],
        options["kernel"],
        options["folder"],
        options["parameters"],
        options["timeout_s"],
        options["knobs"],
    )


def local_machine(options: Mapping[str, Any]) -> LocalMachine:
    """Return this machine with the workload that *options* name; raises TuneError."""
    pid = options.get("attach") or 0
    if not options["workload"] and not pid:
        raise TuneError("no workload: put its command after --, or use --lab SCENARIO")
    source = parse_source(options["source"])
    if options["source"] == RECORDING:
        source = Source(f"{OUT_PLACEHOLDER}/{SPOOL}", RECORDING)
    roles: list[str] = []
    for role in ("foreground", "background"):
        for rule in options[role]:
            roles += [f"--{role}", rule]
    for rule in options.get("target") or ():
        roles += _target(rule)
    for spec in options.get("counted") or ():
        roles += ["--request", spec]
    return LocalMachine(
        command=options["workload"],
        source=source,
        disk=disk_of(options["disk"]),
        folder=options["folder"],
        groups=Groups(group_of(options["foreground"]), group_of(options["background"])),
        roles=roles,
        which=which_knobs(options["knobs"]),
        timeout_s=options.get("timeout_s") or 900,
        journal=options.get("journal") or DEFAULT_FOLDER,
        yes=bool(options.get("yes")),
        attach_pid=pid,
        window_s=options.get("window_s") or 30,
    )
