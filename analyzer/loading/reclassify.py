"""Changes the role rules of a recording and analyzes it again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rcp.analyzer.arrays.roles import BACKGROUND, FOREGROUND, RoleError, cmdlines_of, parse_rule
from rcp.analyzer.arrays.tasks import with_roles
from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.loading import who_and_where
from rcp.analyzer.loading.load import analyze, new_store, request_names
from rcp.analyzer.loading.rebuild import tasks_of, trace_from
from rcp.probes.contract.role_profiles import profiles

DEPENDENT = ("meta", "task", "role_rule", "request", "segment", "edge", "inversion", "io_share")
"""Tables that depend on roles and are made again; all others are copied."""


def rule_entry(role: str, text: str, meta: Mapping[str, Any]) -> dict[str, Any]:
    """Return a rule in the form of ``meta["roles"]``; raise StoreError when it cannot be applied.

    As when recording, a bare word is a glob for thread names and a bare number a pid. A cgroup is
    given by its id, or by a path that a rule of the recording names.
    """
    kind, separator, value = text.partition(":")
    if not separator:
        kind, value = ("pid" if text.isdigit() else "comm"), text
    entry: dict[str, Any] = {"role": role, "rule": f"{kind}:{value}"}
    if kind == "cgroup":
        entry["cgroup_id"] = _cgroup_id(value, entry["rule"], meta)
    try:
        parse_rule(entry, ())
    except RoleError as error:
        raise StoreError(f"{error}: `rcp-trace roles --help` has examples.") from error
    return entry


def _cgroup_id(value: str, text: str, meta: Mapping[str, Any]) -> int:
    known = {entry.get("rule"): entry.get("cgroup_id") for entry in meta.get("roles", [])}
    found = int(value) if value.isdigit() else known.get(text)
    if found is None:
        raise StoreError(
            f"the recording has cgroups by id only, not {value}: write cgroup:ID, with an id "
            "of `rcp-trace sql FILE 'SELECT DISTINCT cgroup_id, comm FROM task'`."
        )
    return int(found)


def role_entries(
    settings: Iterable[str], profile_names: Iterable[str], meta: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the rules of ``--set ROLE=RULE`` options and profiles, in order of precedence.

    The order is that of recording: foreground rules, background rules, profiles.
    Raises StoreError.
    """
    own = []
    for setting in settings:
        role, separator, text = setting.partition("=")
        if not separator or role not in (FOREGROUND, BACKGROUND):
            raise StoreError(
                f"bad --set {setting!r}: write foreground=RULE or background=RULE, "
                "as in background=comm:rsync."
            )
        own.append(rule_entry(role, text, meta))
    entries = sorted(own, key=lambda entry: entry["role"] != FOREGROUND)
    for name in profile_names:
        if name not in profiles():
            raise StoreError(f"no profile {name!r}: there are {', '.join(profiles())}.")
        entries += [
            {**rule_entry(rule.role, rule.rule, meta), "profile": name}
            for rule in profiles()[name].rules
        ]
    return entries


def unmatched_cmdlines(entries: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> bool:
    """Tell whether rules need command lines, and the recording has none."""
    has_cmdline_rule = any(str(entry["rule"]).startswith("cmdline:") for entry in entries)
    return has_cmdline_rule and not cmdlines_of(meta)


def reclassify(source: Path, store: Store, entries: list[dict[str, Any]], target: Path) -> None:
    """Write ``target``: the recording ``store``, read from ``source``, with these role rules.

    ``target`` may be ``source`` itself, which is replaced once the new store is complete. Raises
    StoreError when it cannot be written.
    """
    meta = {**facts(store), "roles": entries}
    cmdlines = cmdlines_of(meta)
    rules = [parse_rule(entry, cmdlines) for entry in entries]
    trace = trace_from(store, meta, with_roles(tasks_of(store), rules))
    store.close()
    with new_store(target) as written:
        written.copy(source, [table for table in written.tables() if table not in DEPENDENT])
        written.insert(
            {
                "meta": who_and_where.meta(meta),
                "task": who_and_where.task(trace.tasks),
                "role_rule": who_and_where.role_rule(rules, trace.tasks),
            }
        )
        analyze(written, trace, request_names(meta), float(meta.get("recorded_share", 1.0)))
