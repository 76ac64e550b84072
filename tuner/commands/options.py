"""Make the machine that runs the trials from the options of a command."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from rcp.tuner.commands.run_options import LabOptions, LocalOptions
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.catalog import Which
from rcp.tuner.knobs.files import read_knobs_file
from rcp.tuner.knobs.group_cell import Group, Groups
from rcp.tuner.knobs.tree import Tree
from rcp.tuner.trials.lab import LabMachine
from rcp.tuner.trials.local import LocalMachine
from rcp.tuner.trials.raw import SPOOL
from rcp.tuner.trials.source import OUT_PLACEHOLDER, RECORDING, Source, parse_source

_KNOB_SETS: tuple[Literal["auto", "rcp", "stock"], ...] = ("auto", "rcp", "stock")


def _rule(noun: str, text: str) -> tuple[str, str]:
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
    for kind, value in (_rule("group", rule) for rule in rules):
        if kind == "comm":
            comms.append(value)
        elif kind == "pid":
            pids.append(int(value))
        else:
            cgroup = value.strip("/")
    return Group(tuple(comms), tuple(pids), cgroup)


def _target(rule: str) -> list[str]:
    """Return the options of rcp-trace record for *rule*; raises TuneError."""
    kind, value = _rule("target", rule)
    return [f"--{kind}", value]


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


def lab_machine(options: LabOptions, folder: Path) -> LabMachine:
    """Return guests that run a scenario; artefacts go to *folder*."""
    return LabMachine(
        scenario=options.scenario,
        kernel=options.kernel,
        folder=folder,
        parameters=options.parameters,
        timeout_s=options.timeout_s,
        knobs=options.knobs,
        checkout=options.checkout,
    )


def local_machine(options: LocalOptions, folder: Path, tree: Tree | None = None) -> LocalMachine:
    """Return this machine with its workload; trials go to *folder*. Raises TuneError.

    *tree* are its files, by default those of the running machine.
    """
    tree = tree or Tree()
    source = parse_source(options.source)
    if options.source == RECORDING:
        source = Source(f"{OUT_PLACEHOLDER}/{SPOOL}", RECORDING)
    return LocalMachine(
        command=options.workload,
        source=source,
        disk=disk_of(options.disk, tree),
        folder=folder,
        groups=Groups(group_of(options.foreground), group_of(options.background)),
        record_options=_record_options(options),
        which=which_knobs(options.knobs),
        timeout_s=options.timeout_s,
        journal=options.journal,
        yes=options.yes,
        tree=tree,
        attach_pid=options.attach_pid,
        window_s=options.window_s,
    )


def _record_options(options: LocalOptions) -> list[str]:
    """Return the options of rcp-trace record for roles, targets and requests."""
    words: list[str] = []
    for option, rules in (
        ("--foreground", options.foreground),
        ("--background", options.background),
    ):
        for rule in rules:
            words += [option, rule]
    for rule in options.targets:
        words += _target(rule)
    for spec in options.requests:
        words += ["--request", spec]
    return words
