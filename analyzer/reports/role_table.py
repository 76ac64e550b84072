"""The roles of a recording's threads, as ``rcp-trace roles`` prints them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rcp.analyzer.blame.chains import generic_name
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import duration, size_text
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled


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


_SPARE_ROLES = ("bytes", "ios", "asleep", "runnable", "threads")


def task_roles(store: Store) -> list[TaskRole]:
    """Return the threads of a recording by role and rule, the busiest first."""
    return store.rows(TaskRole, query("roles/tasks"))


def roles_text(threads: list[TaskRole], page: Page = PIPED) -> str:
    """Return threads as text; those with the same role, rule and name share a line."""
    groups: dict[tuple[str, str, str], list[TaskRole]] = {}
    for task in spelled(threads):
        key = (task.role, task.role_rule, generic_name(task.comm))
        groups.setdefault(key, []).append(task)
    names = ("role", "rule", "name", "threads", "on cpu", "runnable", "asleep", "ios", "bytes")
    heads = columns(*names, left=3, sacrifice=_SPARE_ROLES)
    return "\n".join(fitted(heads, _lines(groups), page)) + "\n"


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
                rule,
                tasks[0].comm if len(tasks) == 1 else name,
                str(len(tasks)),
            ),
            *map(duration, totals[:3]),
            *(str(totals[3]), size_text(totals[4])),
        )
