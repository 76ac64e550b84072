"""Tasks, roles, devices and facts of a recording, as columns of the store's tables. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rcp.analyzer.arrays.roles import ROLES, RoleRule
from rcp.analyzer.arrays.tasks import Tasks
from rcp.analyzer.db.arrow import Coded
from rcp.analyzer.db.columns import Columns, null_if, texts
from rcp.analyzer.loading.found import Missing
from rcp.probes.contract.events import TaskFlag

# The kernel's names of partitions (block/partitions/core.c): a "p" follows a digit.
_PARTITIONS = (re.compile(r"(.*\d)p\d+"), re.compile(r"(.*\D)\d+"))
_STACKED = ("dm-", "md")
"""Stacked devices: their ios are recorded on the disks below."""


def meta(facts: Mapping[str, Any]) -> Columns:
    """Columns of ``meta``."""
    return {"key": list(facts), "value": [json.dumps(value) for value in facts.values()]}


def task(tasks: Tasks) -> Columns:
    """Columns of ``task``."""
    return {
        "utid": np.arange(len(tasks)),
        "thread_utid": tasks.thread,
        "tid": tasks.tid,
        "pid": tasks.pid,
        "ppid": tasks.ppid,
        "comm": tasks.comm,
        "own_comm": tasks.own_comm,
        "comms": [list(comms) for comms in tasks.comms],
        "start_ns": tasks.start_ns,
        "since_ns": tasks.since_ns,
        "exit_ns": null_if(tasks.exit_ns, tasks.exit_ns == 0),
        "is_kthread": (tasks.flags & TaskFlag.KTHREAD) != 0,
        "is_target": (tasks.flags & TaskFlag.TARGET) != 0,
        "is_recorder": (tasks.flags & TaskFlag.RECORDER) != 0,
        "cgroup_id": tasks.cgroup_id,
        "role": Coded(tasks.role, ROLES),
        "role_rule": texts(tasks.role_rule),
    }


def role_rule(rules: Sequence[RoleRule], tasks: Tasks) -> Columns:
    """Columns of ``role_rule``."""
    return {
        "position": np.arange(1, len(rules) + 1),
        "role": [rule.role for rule in rules],
        "rule": [rule.text for rule in rules],
        "n_tasks": [tasks.role_rule.count(rule.text) for rule in rules],
    }


def stack(stacks: Mapping[int, Sequence[str]]) -> Columns:
    """Columns of ``stack``."""
    return {"stack_id": list(stacks), "frames": [list(frames) for frames in stacks.values()]}


def _disk(name: str, names: Mapping[str, int]) -> int | None:
    """Return the number of the disk that ``name`` is or is a partition of; None when stacked."""
    if name.startswith(_STACKED):
        return None
    disk = next((match[1] for of in _PARTITIONS if (match := of.fullmatch(name))), "")
    return names.get(disk, names[name])


def labelled(names: Mapping[str, str], labels: Mapping[str, Any]) -> dict[str, str]:
    """Return the names of devices for display: ``secret (dm-0)``, ``disk.img (loop0)``."""
    return {
        number: f"{labels[number]} ({name})" if labels.get(number) else name
        for number, name in names.items()
    }


def device(names: Mapping[str, str], shown: Mapping[str, str]) -> Columns:
    """Columns of ``device``: kernel names tell which disk a partition is of, others are shown."""
    numbers = {name: int(number) for number, name in names.items()}
    return {
        "dev": [int(number) for number in names],
        "name": list(shown.values()),
        "disk_dev": [_disk(name, numbers) for name in names.values()],
    }


def loss(counters: Mapping[str, Any], missing: Mapping[str, Missing]) -> Columns:
    """Columns of ``loss``, from counters by kind and probe, each a list by CPU.

    No CPU is known of missing records. Its row also has what was written but not counted.
    """
    kinds = ("written", "lost", "excluded", "filtered")
    by_kind = {kind: counters.get(kind, {}) for kind in kinds}
    probes = list(dict.fromkeys(probe for counts in by_kind.values() for probe in counts))
    rows: list[tuple[Any, ...]] = []
    for probe in probes:
        per_cpu = [by_kind[kind].get(probe, []) for kind in kinds]
        for cpu in range(max(map(len, per_cpu))):
            counts = [values[cpu] if cpu < len(values) else 0 for values in per_cpu]
            rows.append((probe, cpu, *counts, 0))
    for probe, gone in missing.items():
        uncounted = max(gone.of - sum(by_kind["written"].get(probe, [])), 0)
        rows.append((probe, None, uncounted, 0, 0, 0, gone.n))
    names = ("probe", "cpu", *kinds, "missing")
    return {name: [row[position] for row in rows] for position, name in enumerate(names)}
