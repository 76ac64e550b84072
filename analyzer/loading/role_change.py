"""What ``rcp-trace roles`` does to the rules of a recording: add, replace, reset, undo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rcp.analyzer.arrays.cgroup_tree import full_path
from rcp.analyzer.arrays.roles import (
    BACKGROUND,
    FOREGROUND,
    ROLES,
    RoleError,
    RoleRule,
    matches,
    parse_rule,
)
from rcp.analyzer.arrays.task_roles import task_facts
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.db.store import StoreError
from rcp.probes.contract.role_profiles import profiles

Entry = Mapping[str, Any]
"""A rule as ``meta["roles"]`` has it: role, rule, and what the recorder resolved it to."""

BEFORE = "roles_before"
"""Key of ``meta``: the lists of rules that changes replaced, the first being the recorder's."""

_KINDS = ("comm", "pid", "cgroup", "cmdline")


@dataclass(frozen=True)
class RoleChange:
    """A change as the user asked for it: rules as ``ROLE=RULE``, profiles by name."""

    added: Sequence[str] = ()
    replaced: Sequence[str] = ()
    profiles: Sequence[str] = ()
    is_reset: bool = False
    is_undo: bool = False

    def __bool__(self) -> bool:
        """Tell whether anything is to change."""
        rules = self.added or self.replaced or self.profiles
        return bool(rules) or self.is_reset or self.is_undo


def rule_entry(option: str, role: str, text: str, known: Mapping[str, int]) -> dict[str, Any]:
    """Return a rule in the form of ``meta["roles"]``; raise StoreError when it cannot be applied.

    As when recording, a bare word is a glob for thread names and a bare number a pid. A cgroup is
    given by its id, or by its path if that is ``known``.
    """
    kind, separator, value = text.partition(":")
    if not separator and text not in _KINDS:
        kind, value = ("pid" if text.isdigit() else "comm"), text
    if kind not in _KINDS or not value:
        raise StoreError(
            f"bad {option} '{role}={text}': write {role}=comm:GLOB, pid:N, cgroup:PATH or "
            "cmdline:REGEX."
        )
    entry: dict[str, Any] = {"role": role, "rule": f"{kind}:{value}"}
    if kind == "cgroup":
        entry["cgroup_id"] = _cgroup_id(value, known)
    try:
        parse_rule(entry, ())
    except RoleError as error:
        raise StoreError(f"{error}: `rcp-trace roles --help` has examples.") from error
    return entry


def _cgroup_id(value: str, known: Mapping[str, int]) -> int:
    found = int(value) if value.isdigit() else known.get(full_path(value))
    if found is None:
        raise StoreError(
            f"the recording has no cgroup {value}: write a path of its table `cgroup`, or an id of "
            "`rcp-trace sql FILE 'SELECT DISTINCT cgroup_id, comm FROM task'`."
        )
    return int(found)


def known_cgroups(meta: Mapping[str, Any], paths: Mapping[str, int]) -> dict[str, int]:
    """Return the ids of cgroups by path: of those recorded, and of those that rules name."""
    entries = (e for e in meta.get("roles", []) if e.get("cgroup_id") is not None)
    return dict(paths) | {full_path(e["rule"].partition(":")[2]): e["cgroup_id"] for e in entries}


def _own(option: str, settings: Iterable[str], known: Mapping[str, int]) -> Iterator[Entry]:
    for setting in settings:
        role, separator, text = setting.partition("=")
        if not separator or role not in (FOREGROUND, BACKGROUND):
            raise StoreError(
                f"bad {option} {setting!r}: write foreground=RULE or background=RULE, "
                "as in background=comm:rsync."
            )
        yield rule_entry(option, role, text, known)


def _of_profiles(names: Iterable[str]) -> Iterator[Entry]:
    for name in names:
        if name not in profiles():
            raise StoreError(f"no profile {name!r}: there are {', '.join(profiles())}.")
        for rule in profiles()[name].rules:
            yield {**rule_entry("--profile", rule.role, rule.rule, {}), "profile": name}


def _place(entry: Entry) -> int:
    # The order of recording: foreground rules, background rules, profiles.
    return 2 if "profile" in entry else int(entry["role"] != FOREGROUND)


def changed_meta(
    change: RoleChange, meta: Mapping[str, Any], cgroups: Mapping[str, int]
) -> dict[str, Any]:
    """Return ``meta`` with the rules that *change* leaves, in order of precedence.

    Foreground rules come before background rules, and both before profiles; among equals those
    just given come first. The rules until now are kept in ``meta[BEFORE]``. Raises StoreError.
    ``cgroups``: ids of the recording's by their paths.
    """
    known = known_cgroups(meta, cgroups)
    now, before = list(meta.get("roles", [])), list(meta.get(BEFORE, []))
    if change.is_undo:
        if not before:
            raise StoreError("the roles are those of the recording: there is nothing to undo.")
        return {**meta, "roles": before[-1], BEFORE: before[:-1]}
    kept = [] if change.replaced else now
    if change.is_reset:
        kept = before[0] if before else now
    given = [
        *_own("--set", change.replaced, known),
        *_own("--add", change.added, known),
        *_of_profiles(change.profiles),
    ]
    rules: list[Entry] = []
    for entry in sorted([*given, *kept], key=_place):
        if not any((entry["role"], entry["rule"]) == (r["role"], r["rule"]) for r in rules):
            rules.append(entry)
    return {**meta, "roles": rules, BEFORE: [*before, now]}


def idle_rules(change: RoleChange, rules: Iterable[RoleRule], tasks: Tasks) -> Iterator[str]:
    """Yield a warning for each rule of *change* that decides the role of no thread.

    *rules* are those after the change, *tasks* have the roles that they gave. Profiles have rules
    for more than one machine has, so theirs are left out.
    """
    settings = {setting.partition("=")[0::2] for setting in (*change.added, *change.replaced)}
    given = {(role, text if ":" in text else _spelled(text)) for role, text in settings}
    decided = {*zip(tasks.role.tolist(), tasks.role_rule, strict=True)}
    for rule in rules:
        if (rule.role, rule.text) not in given or (ROLES.index(rule.role), rule.text) in decided:
            continue
        matched = zip(task_facts(tasks), tasks.role.tolist(), tasks.role_rule, strict=True)
        by = next(
            (f"{ROLES[role]}={text}" for task, role, text in matched if matches(rule, task)), None
        )
        if by is None:
            yield (
                f"{rule.role}={rule.text} matches no thread: `rcp-trace roles FILE` lists those "
                "of the recording."
            )
        else:
            yield f"{rule.role}={rule.text} decides nothing: {by} comes first for what it matches."


def _spelled(text: str) -> str:
    return f"{'pid' if text.isdigit() else 'comm'}:{text}"
