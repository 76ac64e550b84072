"""Changes the role rules of a recording and analyzes it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rcp.analyzer.arrays.roles import cmdlines_of, parse_rules, with_cgroups_below
from rcp.analyzer.arrays.task_roles import with_roles
from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.loading import who_and_where
from rcp.analyzer.loading.load import analyze, new_store, request_names
from rcp.analyzer.loading.rebuild import cgroup_paths, cgroups_of, tasks_of, trace_from
from rcp.analyzer.loading.role_change import RoleChange, changed_meta, idle_rules

DEPENDENT = ("meta", "task", "role_rule", "request", "segment", "edge", "inversion", "io_share")
"""Tables that depend on roles and are made again; all others are copied."""


def unmatched_cmdlines(entries: Sequence[Mapping[str, Any]], meta: Mapping[str, Any]) -> bool:
    """Tell whether rules need command lines, and the recording has none."""
    has_cmdline_rule = any(str(entry["rule"]).startswith("cmdline:") for entry in entries)
    return has_cmdline_rule and not cmdlines_of(meta)


def reclassify(source: Path, store: Store, change: RoleChange, target: Path) -> list[str]:
    """Write ``target``: the recording ``store``, read from ``source``, with other role rules.

    ``target`` may be ``source`` itself, which is replaced once the new store is complete. Return
    warnings about rules without effect. Raises StoreError when a rule is wrong, or the store cannot
    be written.
    """
    meta = changed_meta(change, facts(store), cgroup_paths(store))
    warnings = []
    if unmatched_cmdlines(meta["roles"], meta):
        warnings.append("the recording has no command lines: cmdline: rules match nothing.")
    rules = with_cgroups_below(parse_rules(meta), cgroups_of(store))
    [(until_ns,)] = store.query("SELECT coalesce(max(run_ns), 0) FROM sleep")
    trace = trace_from(store, meta, with_roles(tasks_of(store), rules, until_ns))
    known = set(store.tables()) - set(DEPENDENT)
    store.close()
    with new_store(target) as written:
        written.copy(source, [table for table in written.tables() if table in known])
        written.insert(
            {
                "meta": who_and_where.meta(meta),
                "task": who_and_where.task(trace.tasks),
                "role_rule": who_and_where.role_rule(rules, trace.tasks),
            }
        )
        analyze(written, trace, request_names(meta), float(meta.get("recorded_share", 1.0)))
    return [*warnings, *idle_rules(change, rules, trace.tasks)]
