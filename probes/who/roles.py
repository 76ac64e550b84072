"""Role rules as typed by the user, resolved on the running system."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rcp.probes.contract.role_profiles import Profile, profiles
from rcp.probes.contract.user_error import UserError
from rcp.probes.program import Cgroup
from rcp.probes.who.cmdlines import pids_of

CGROUP_ROOT = Path("/sys/fs/cgroup")
_KINDS = ("comm", "pid", "cgroup", "cmdline")


class RuleError(UserError):
    """A role rule or target is malformed or matches nothing; the message gives the remedy."""


def cgroup_of(path: str) -> Cgroup:
    """Resolve a cgroup v2 path (below the mount, or absolute) to its id and depth."""
    directory = Path(path) if path.startswith(str(CGROUP_ROOT)) else CGROUP_ROOT / path.strip("/")
    if not (directory / "cgroup.procs").exists():
        raise RuleError(
            f"no cgroup {path} below {CGROUP_ROOT}: `systemd-cgls` or `ls {CGROUP_ROOT}` "
            "lists them."
        )
    # The inode number of a cgroup2 directory is the id BPF sees (kernfs).
    level = len(directory.relative_to(CGROUP_ROOT).parts)
    return Cgroup(path=path, id=directory.stat().st_ino, level=level)


def require_pid(pid: int) -> int:
    """Return ``pid`` when such a process runs, else raise RuleError."""
    if not Path(f"/proc/{pid}").is_dir():
        raise RuleError(f"no process {pid}: `pgrep -a NAME` finds one.")
    return pid


def with_descendants(pids: Iterable[int]) -> tuple[int, ...]:
    """Return the processes and their running descendants; BPF follows later forks."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            # proc(5): pid (comm) state ppid …; comm may hold spaces and parentheses
            parent = int(stat.read_text(errors="replace").rpartition(")")[2].split()[1])
        except OSError:  # it ended meanwhile
            continue
        children.setdefault(parent, []).append(int(stat.parent.name))
    tree = list(dict.fromkeys(pids))
    for pid in tree:  # grows in the loop
        tree += [child for child in children.get(pid, []) if child not in tree]
    return tuple(tree)


def _pids_by_cmdline(pattern: str) -> list[int]:
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise RuleError(f"bad regular expression {pattern!r} in cmdline rule: {error}.") from error
    return pids_of(wanted)


def resolve_rule(role: str, text: str) -> dict[str, Any]:
    """Turn ``comm:GLOB``, ``pid:N``, ``cgroup:PATH`` or ``cmdline:REGEX`` into a stored rule.

    A bare word is a thread name glob and a bare number a pid. Raises RuleError.
    """
    kind, separator, value = text.partition(":")
    if not separator:
        kind, value = ("pid" if text.isdigit() else "comm"), text
    if kind not in _KINDS or not value:
        raise RuleError(
            f"bad {role} rule {text!r}: write comm:GLOB, pid:N, cgroup:PATH or cmdline:REGEX."
        )
    rule: dict[str, Any] = {"role": role, "rule": f"{kind}:{value}"}
    if kind == "pid" and not value.isdigit():
        raise RuleError(f"bad {role} rule {text!r}: a pid is a number.")
    if kind == "cgroup":
        rule["cgroup_id"] = cgroup_of(value).id
    if kind == "cmdline":
        rule["pids"] = _pids_by_cmdline(value)
    return rule


def cmdline_rule_pids(rules: Iterable[Mapping[str, Any]]) -> dict[str, list[int]]:
    """Return the pids that each ``cmdline`` rule matches now, by the rule's text.

    Taken at the end of a recording: stored command lines are too short to match rules later.
    """
    texts = {str(rule["rule"]) for rule in rules if str(rule["rule"]).startswith("cmdline:")}
    return {text: _pids_by_cmdline(text.partition(":")[2]) for text in sorted(texts)}


def profile_named(name: str) -> Profile:
    """Return the built-in profile of this name; raise RuleError when there is none."""
    known = profiles()
    if name not in known:
        raise RuleError(f"no profile {name!r}: choose from {', '.join(known)}.")
    return known[name]


def resolve_rules(
    foreground: Iterable[str], background: Iterable[str], profile_names: Iterable[str] = ()
) -> list[dict[str, Any]]:
    """Resolve all rules, foreground first, profiles last: the first that matches a task wins."""
    own = [("foreground", text) for text in foreground]
    own += [("background", text) for text in background]
    resolved = [resolve_rule(role, text) for role, text in own]
    for name in profile_names:
        resolved += [
            {**resolve_rule(rule.role, rule.rule), "profile": name}
            for rule in profile_named(name).rules
        ]
    return resolved
