"""The roles of a recording's threads, as ``rcp-trace roles`` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rcp.analyzer.blame.chains import generic_name
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.text import duration, size_text, table, truncated


class TaskRole(NamedTuple):
    """One thread, its role, and what it did (ns, bytes)."""

    utid: int
    role: str
    role_rule: str
    comm: str
    tid: int
    pid: int
    cpu_ns: int
    runqueue_ns: int
    asleep_ns: int
    n_ios: int
    io_bytes: int


_RULE_CELL_MAX = 34  # characters of a rule in the text


def task_roles(store: Store) -> list[TaskRole]:
    """Return the threads of a recording by role and rule, the busiest first."""
    return store.rows(TaskRole, query("roles/tasks"))


def roles_text(threads: list[TaskRole]) -> str:
    """Return threads as text; those with the same role, rule and name share a line."""
    groups: dict[tuple[str, str, str], list[TaskRole]] = {}
    for task in threads:
        key = (task.role, task.role_rule, generic_name(task.comm))
        groups.setdefault(key, []).append(task)
    names = ("role", "rule", "name", "threads", "on cpu", "runnable", "asleep", "ios", "bytes")
    return "\n".join(table(names, _lines(groups), left=3)) + "\n"


def _lines(groups: dict[tuple[str, str, str], list[TaskRole]]) -> Iterator[tuple[str, ...]]:
    for (role, rule, name), tasks in groups.items():
        totals = [
            sum(values)
            for values in zip(
                *((t.cpu_ns, t.runqueue_ns, t.asleep_ns, t.n_ios, t.io_bytes) for t in tasks),
                strict=True,
            )
        ]
        yield (
            *(
                role,
                truncated(rule, _RULE_CELL_MAX),
                tasks[0].comm if len(tasks) == 1 else name,
                str(len(tasks)),
            ),
            *map(duration, totals[:3]),
            *(str(totals[3]), size_text(totals[4])),
        )
