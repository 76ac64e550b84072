"""Roles: foreground, background or kernel, and the rule that assigned each.

``meta["roles"]`` is an ordered list of ``{"role": …, "rule": …}``. Rules: ``comm:wal*`` (the name
of the thread at the time), ``pid:123``, ``cgroup:/path`` (resolved by the recorder to
``"cgroup_id"``), ``cmdline:REGEX``. The recorder resolves the last one to ``"pids"``. Processes are
added whose command line matched when the recording or the process started or ended.

Of the rules that match a task, the most particular one decides, and the first among equals:

1. one for the thread: it does not match the main thread of its process, from which the task would
   inherit it. A page cleaner in a database that is foreground as a whole is background.
2. one for the process, by name, pid or command line
3. one for a cgroup, which is inherited by whatever program a server executes, and by the cgroups
   below; of two, the one below
4. one of a profile
5. that of who started its process: what a background task starts is background too
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.cgroup_tree import full_path, parents, path_to, paths_of
from rcp.probes.contract.events import TaskFlag

FOREGROUND, BACKGROUND, KERNEL, UNKNOWN = "foreground", "background", "kernel", "unknown"
ROLES: tuple[str, ...] = (UNKNOWN, FOREGROUND, BACKGROUND, KERNEL)
"""Role names; the position is the code used in arrays."""
ROLE_CODE: dict[str, int] = {name: code for code, name in enumerate(ROLES)}

TARGET_RULE = "target of the recording"
KTHREAD_RULE = "kernel thread"
RECORDER_RULE = "the recorder itself"
NO_RULE = "no rule matched"
STARTED_RULE = "started by the background"
_TITLE_MAX = 40  # characters; a longer match is a command line rather than a title


class RoleError(Exception):
    """A role rule of the recording is invalid; the message quotes it."""


@dataclass(frozen=True)
class RoleRule:
    """One rule: ``text`` as the user wrote it, and what the recorder resolved it to."""

    role: str
    text: str
    cgroups: frozenset[int] = field(default_factory=frozenset)
    """The cgroup of a ``cgroup:`` rule, and those below it (``with_cgroups_below``)."""
    pids: frozenset[int] = field(default_factory=frozenset)
    titles: Mapping[int, str] = field(default_factory=dict, hash=False)
    """By pid, the part of its command line that a ``cmdline:`` rule matched, if at the start."""
    is_profile: bool = False
    """A profile's, not one that the user wrote."""


@dataclass
class TaskFacts:
    """What role rules match on: what was true of one thread for a time."""

    pid: int
    cgroup_id: int
    flags: int
    comm: str


def cmdlines_at_exit(rows: npt.NDArray[np.void]) -> dict[str, str]:
    """Return the command lines of CMDLINE records by pid."""
    texts = {str(row["pid"]): row["text"].decode(errors="replace").rstrip() for row in rows}
    return {pid: text for pid, text in texts.items() if text}


def cmdlines_of(meta: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return (pid, command line) at start and end of the recording, and at each process's exit."""
    found = []
    at_exit = {"cmdlines": meta.get("cmdlines_at_exit", {})}
    for seen in (meta, at_exit, meta.get("end") or {}):
        texts = seen.get("cmdlines", {})
        pids = [pid for pid in texts if pid.isdigit()] if isinstance(texts, dict) else []
        found += [(int(pid), str(texts[pid])) for pid in pids]
    return found


def parse_rule(entry: Any, cmdlines: Sequence[tuple[int, str]]) -> RoleRule:
    """Return one rule of ``meta["roles"]``; raise RoleError if it is invalid."""
    if not isinstance(entry, dict):
        raise RoleError(f"role rule {entry!r} is no object")
    role, text = str(entry.get("role", "")), str(entry.get("rule", ""))
    kind, _, value = text.partition(":")
    if role not in (FOREGROUND, BACKGROUND):
        raise RoleError(f"role {role!r} of rule {text!r} is not foreground or background")
    if kind not in ("comm", "pid", "cgroup", "cmdline") or not value:
        raise RoleError(f"rule {text!r} is not comm:, pid:, cgroup: or cmdline:")
    if kind == "pid" and not value.isdigit():
        raise RoleError(f"rule {text!r} has no process id")
    pids, titles = set(entry.get("pids", [])), {}
    if kind == "cmdline":
        try:
            wanted = re.compile(value)
        except re.error as error:
            raise RoleError(f"rule {text!r} is no regular expression: {error}") from error
        for pid, cmdline in cmdlines:
            if found := wanted.search(cmdline):
                pids.add(pid)
                if not found.start() and (title := found[0].strip()):
                    titles[pid] = title
    cgroup = entry.get("cgroup_id") if kind == "cgroup" else None
    cgroups = frozenset([] if cgroup is None else [cgroup])
    return RoleRule(role, text, cgroups, frozenset(pids), titles, bool(entry.get("profile")))


def parse_rules(meta: Mapping[str, Any]) -> list[RoleRule]:
    """Return the recording's rules in order; raise RoleError on an invalid one.

    ``meta["end"]`` is the end of the recording, if it has one. It lists the processes that matched
    then: the recorder matched more of each command line than it stores.
    """
    cmdlines, late = cmdlines_of(meta), (meta.get("end") or {}).get("role_pids")
    late = late if isinstance(late, dict) else {}
    rules = [parse_rule(entry, cmdlines) for entry in meta.get("roles", [])]
    return [replace(rule, pids=rule.pids.union(late.get(rule.text, ()))) for rule in rules]


def with_cgroups_below(rules: Iterable[RoleRule], cgroups: npt.NDArray[np.void]) -> list[RoleRule]:
    """Return the rules; one for a cgroup holds for those below it, and for later ones of its path.

    ``cgroups``: the cgroup records. A service that is started again has another cgroup.
    """
    parent, paths = parents(cgroups), paths_of(cgroups)
    above = {one: frozenset(path_to(one, parent)) for one in parent}
    return [replace(rule, cgroups=_below(rule, above, paths)) for rule in rules]


def _below(
    rule: RoleRule, above: Mapping[int, frozenset[int]], paths: Mapping[int, str]
) -> frozenset[int]:
    kind, _, value = rule.text.partition(":")
    if kind != "cgroup":
        return rule.cgroups
    wanted = None if value.isdigit() else full_path(value)
    own = rule.cgroups.union(one for one, path in paths.items() if path == wanted)
    return own.union(one for one in above if own & above[one])


def matches(rule: RoleRule, task: TaskFacts) -> bool:
    """Return whether ``rule`` matches ``task``."""
    kind, _, value = rule.text.partition(":")
    if kind == "comm":
        return fnmatchcase(task.comm, value)
    if kind == "pid":
        return task.pid == int(value)
    if kind == "cgroup":
        return task.cgroup_id in rule.cgroups
    return task.pid in rule.pids


def _generality(rule: RoleRule, main: TaskFacts | None) -> int:
    """Return 0 for a rule that matches the thread alone, more for one that it inherits."""
    if main is not None and not matches(rule, main):
        return 0
    if rule.is_profile:
        return 3
    return 2 if rule.text.startswith("cgroup:") else 1


def role_of(
    task: TaskFacts, rules: Sequence[RoleRule], main: TaskFacts | None = None
) -> tuple[str, str]:
    """Return the role of ``task`` and the text of the rule that assigned it.

    ``main`` is the main thread of its process, None if the task is that itself. A target of the
    recording is foreground by default, but not if any rule names a foreground.
    """
    if task.flags & TaskFlag.RECORDER:
        return UNKNOWN, RECORDER_RULE
    found = [rule for rule in rules if matches(rule, task)]
    if found:
        rule = min(found, key=lambda rule: _generality(rule, main))
        if rule.cgroups:
            # Of a cgroup and one above, the one below: it has fewer below it.
            alike = (r for r in found if _generality(r, main) == _generality(rule, main))
            rule = min((r for r in alike if r.cgroups), key=lambda r: len(r.cgroups))
        return rule.role, rule.text
    if task.flags & TaskFlag.KTHREAD:
        return KERNEL, KTHREAD_RULE
    if task.flags & TaskFlag.TARGET and all(rule.role != FOREGROUND for rule in rules):
        return FOREGROUND, TARGET_RULE
    return UNKNOWN, NO_RULE


def name_of(task: TaskFacts, tid: int, rule: RoleRule | None) -> str:
    """Return the name to show: the task's own, or its title.

    If a rule matched the process's title, a short title is the name of the main thread: the
    processes of a server often differ in nothing else.
    """
    if rule and rule.text.startswith("cmdline:") and tid == task.pid:
        title = rule.titles.get(task.pid, "")
        return title if 0 < len(title) <= _TITLE_MAX else task.comm
    return task.comm
