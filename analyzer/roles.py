"""Roles: whose work a task does, and the rule that said so.

``meta["roles"]`` is an ordered list of ``{"role": …, "rule": …}``; the first rule that matches
a task decides. Rules: ``comm:wal*`` (any name the thread had), ``pid:123``, ``cgroup:/path``
(the recorder resolved it to ``"cgroup_id"``), ``cmdline:REGEX`` (resolved to ``"pids"``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from rcp.probes.events import TaskFlag

FOREGROUND, BACKGROUND, KERNEL, UNKNOWN = "foreground", "background", "kernel", "unknown"
ROLES: tuple[str, ...] = (UNKNOWN, FOREGROUND, BACKGROUND, KERNEL)
"""Role names; the position is the code used in arrays."""
ROLE_CODE: dict[str, int] = {name: code for code, name in enumerate(ROLES)}

TARGET_RULE = "target of the recording"
KTHREAD_RULE = "kernel thread"
RECORDER_RULE = "the recorder itself"
NO_RULE = "no rule matched"


class RoleError(Exception):
    """A role rule of the recording cannot be understood; the message quotes it."""


@dataclass(frozen=True)
class RoleRule:
    """One rule in force: ``text`` as the user wrote it, with what the recorder resolved."""

    role: str
    text: str
    cgroup_id: int | None = None
    pids: frozenset[int] = field(default_factory=frozenset)


@dataclass
class TaskFacts:
    """What role rules may ask about one thread."""

    pid: int
    cgroup_id: int
    flags: int
    comms: list[str]


def parse_rules(meta: dict[str, Any]) -> list[RoleRule]:
    """Return the recording's rules in order; raise RoleError on one nobody can apply."""
    rules = []
    for entry in meta.get("roles", []):
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
        rules.append(RoleRule(role, text, entry.get("cgroup_id"), frozenset(entry.get("pids", []))))
    return rules


def matches(rule: RoleRule, task: TaskFacts) -> bool:
    """Tell whether ``rule`` is about ``task``."""
    kind, _, value = rule.text.partition(":")
    if kind == "comm":
        return any(fnmatchcase(comm, value) for comm in task.comms)
    if kind == "pid":
        return task.pid == int(value)
    if kind == "cgroup":
        return rule.cgroup_id is not None and task.cgroup_id == rule.cgroup_id
    return task.pid in rule.pids


def role_of(task: TaskFacts, rules: Sequence[RoleRule]) -> tuple[str, str]:
    """Return the role of ``task`` and the text of the rule that gave it.

    Whoever says what is foreground means that only: other targets then have no role.
    """
    if task.flags & TaskFlag.RECORDER:
        return UNKNOWN, RECORDER_RULE
    for rule in rules:
        if matches(rule, task):
            return rule.role, rule.text
    if task.flags & TaskFlag.KTHREAD:
        return KERNEL, KTHREAD_RULE
    if task.flags & TaskFlag.TARGET and all(rule.role != FOREGROUND for rule in rules):
        return FOREGROUND, TARGET_RULE
    return UNKNOWN, NO_RULE


def comm_of(task: TaskFacts, rule_text: str) -> str:
    """Return the name to show: the last one, unless an earlier one gave the task its role."""
    kind, _, value = rule_text.partition(":")
    if kind == "comm" and not fnmatchcase(task.comms[-1], value):
        return next(comm for comm in reversed(task.comms) if fnmatchcase(comm, value))
    return task.comms[-1]
