"""The records of cgroups, of memory and its limits as columns of the store's tables. Pure."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.cgroup_tree import paths_of
from rcp.analyzer.arrays.cgroups import RESOURCES
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.db.arrow import Coded
from rcp.analyzer.db.columns import Columns, null_if
from rcp.probes.contract.events import (
    CGROUP,
    CGROUP_LIMIT,
    PAGE_DROP,
    READ_AGAIN,
    REFAULT,
    THROTTLE,
)

_PAUSE_MAX_MS = 1 << 40  # the kernel's maximum is 200 ms; a damaged record must not overflow ns


def throttle(trace: Trace) -> Columns:
    """Columns of ``throttle``."""
    rows = trace.rows[THROTTLE.name]
    columns: Columns = {
        "throttle_id": np.arange(1, len(rows) + 1, dtype=np.int32),
        "utid": trace.utids[THROTTLE.name],
        "ts": rows["ts"],
        "pause_dur": np.clip(rows["pause_ms"], 0, _PAUSE_MAX_MS) * 1_000_000,
        "cgroup_id": null_if(rows["cgroup_id"], rows["cgroup_id"] == 0),
    }
    for name in (
        *("limit_pages", "setpoint_pages", "dirty_pages", "dirtied_pages"),
        *("bdi_setpoint_pages", "bdi_dirty_pages"),
        *("dirty_ratelimit_kibps", "task_ratelimit_kibps"),
    ):
        columns[name] = rows[name]
    return columns


def refault(trace: Trace) -> Columns:
    """Columns of ``refault``."""
    rows = trace.rows[REFAULT.name]
    return {
        "utid": trace.utids[REFAULT.name],
        "ts": rows["ts"],
        "cgroup_id": null_if(rows["cgroup_id"], rows["cgroup_id"] == 0),
        "limit_pages": null_if(rows["limit_pages"], rows["limit_pages"] == 0),
        "n_pages": rows["n_pages"],
    }


def page_drop(trace: Trace) -> Columns:
    """Columns of ``page_drop``; a range to the end of the file ends at the largest number."""
    rows = trace.rows[PAGE_DROP.name]
    names = ("ts", "dev", "ino", "first_page", "last_page", "n_pages")
    return {"utid": trace.utids[PAGE_DROP.name], **{name: rows[name] for name in names}}


def read_again(trace: Trace) -> Columns:
    """Columns of ``read_again``."""
    rows = trace.rows[READ_AGAIN.name]
    names = ("ts", "dev", "ino", "first_page", "n_pages")
    return {"utid": trace.utids[READ_AGAIN.name], **{name: rows[name] for name in names}}


def cgroup(trace: Trace) -> Columns:
    """Columns of ``cgroup``."""
    rows = trace.rows[CGROUP.name]
    # One is recorded again after another above it was lost, or was met long ago.
    rows = rows[np.sort(np.unique(rows["cgroup_id"], return_index=True)[1])]
    paths = paths_of(rows)
    return {
        "ts": rows["ts"].astype(np.int64),
        "cgroup_id": rows["cgroup_id"],
        "parent_id": null_if(rows["parent_id"], rows["parent_id"] == 0),
        "path": [paths[one] for one in rows["cgroup_id"].astype(np.int64).tolist()],
    }


def cgroup_limit(trace: Trace) -> Columns:
    """Columns of ``cgroup_limit``."""
    rows = trace.rows[CGROUP_LIMIT.name]
    resource = np.where(rows["resource"] < len(RESOURCES), rows["resource"], 0)
    return {
        "ts": rows["ts"].astype(np.int64),
        "cgroup_id": rows["cgroup_id"],
        "resource": Coded(resource, RESOURCES),
        "dev": null_if(rows["dev"], rows["dev"] == 0),
        "amount": null_if(rows["amount"], rows["amount"] == 0),
        "period_us": rows["period_us"],
    }
