"""Leaves out records that no kernel can have written. Pure.

For spools without checksums only: there a damaged record is found by its values or not at all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.chunked import Records, parts_of
from rcp.probes.contract.events import Record

TIME_MAX_NS = 1 << 58
"""Nine years after boot."""

PID_MAX = 1 << 22  # PID_MAX_LIMIT (include/linux/threads.h)
_CPU_MAX = 1 << 13  # NR_CPUS of the largest configuration (arch/x86/Kconfig)
_INT_MAX = (1 << 31) - 1
_LONG_MAX = (1 << 63) - 1

_MAXIMA = {
    "cpu": _CPU_MAX,
    # int or s32 in the kernel
    "n_handles": _INT_MAX,
    "n_blocks": _INT_MAX,
    "n_blocks_logged": _INT_MAX,
    # numbers of pages, and rates: unsigned long, but never so large
    "limit_pages": _LONG_MAX,
    "setpoint_pages": _LONG_MAX,
    "dirty_pages": _LONG_MAX,
    "bdi_setpoint_pages": _LONG_MAX,
    "bdi_dirty_pages": _LONG_MAX,
    "dirty_ratelimit_kibps": _LONG_MAX,
    "task_ratelimit_kibps": _LONG_MAX,
    "cgroup_id": _LONG_MAX,
    "used": _LONG_MAX,
    "limit": _LONG_MAX,
}
"""The largest values of fields, by name, that are neither times nor ids of tasks."""

Bools = npt.NDArray[np.bool_]


def _maximum(name: str, ended_ns: int) -> int | None:
    """Return the largest value that a field can have, None if its type says it."""
    if name == "ts" or name.endswith("_ns"):
        return ended_ns
    if name in ("pid", "ppid") or name == "tid" or name.endswith("_tid"):
        return PID_MAX
    return _MAXIMA.get(name)


def _checks(record: Record, ended_ns: int) -> list[Callable[[Records], Bools]]:
    """Return tests of a part of the records: whether each can be."""
    names = [field.name for field in record.fields]
    bounds = {name: _maximum(name, ended_ns) for name in names}

    def at_most(name: str, bound: int) -> Callable[[Records], Bools]:
        return lambda part: part[name] <= bound

    checks = [at_most(name, bound) for name, bound in bounds.items() if bound is not None]
    if "end_ns" in names:
        checks.append(lambda part: (part["end_ns"] == 0) | (part["end_ns"] >= part["ts"]))
    if "id" in names:
        checks.append(lambda part: part["id"] != 0)
    return checks


def plausible(record: Record, rows: Records, ended_ns: int = TIME_MAX_NS) -> Records:
    """Return the records that can be: all of them in one array, or a copy of some.

    *ended_ns* is when the recording ended, if that is known.
    """
    checks = _checks(record, min(ended_ns, TIME_MAX_NS))
    kept: list[Bools] = []
    for part in parts_of(rows):
        can_be = np.ones(len(part), bool)
        for check in checks:
            can_be &= check(part)
        kept.append(can_be)
    chosen = np.concatenate(kept)
    return rows if chosen.all() else rows[chosen]
