"""What is changed: whose work is taken away, which pattern, which device is faster."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple

from rcp.analyzer.arrays.roles import FOREGROUND, ROLES
from rcp.analyzer.blame.chains import generic_name
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.whatif.errors import WhatIfError

_LISTED_MAX = 6
"""Culprits or devices that an error lists."""

_FACTOR = re.compile(r"(?P<device>[^=]+)=(?P<factor>\d+(?:\.\d+)?)x?")


@dataclass(frozen=True)
class Alteration:
    """A change to the recorded world."""

    utids: Sequence[int] = ()
    """Tasks whose work is taken away."""
    ranks: Sequence[int] = ()
    """Patterns that are taken away, by their number in the report."""
    faster: Mapping[int, float] = field(default_factory=dict)
    """By device number: how many times as fast."""
    label: str = ""
    """For sentences: ``without checkpointer``."""


class _Task(NamedTuple):
    utid: int
    pid: int
    tid: int
    comm: str
    own_comm: str
    role: str
    cgroup_id: int
    blamed_ns: int

    def is_named(self, wanted: str) -> bool:
        head, colon, rest = wanted.partition(":")
        if colon and head in ("pid", "tid", "role"):
            return str(getattr(self, head)) == rest
        glob = rest if colon and head == "comm" else wanted
        names = {self.comm, self.own_comm, generic_name(self.comm)}
        return glob in names or any(fnmatchcase(name, glob) for name in names)


def change(store: Store, without: Sequence[str], faster: Sequence[str]) -> Alteration:
    """Return the change that a user asks for; raises WhatIfError for what is not there."""
    tasks = store.rows(_Task, query("whatif/tasks"))
    utids: set[int] = set()
    numbers = [text for text in without if text.startswith("#")]
    ((n_patterns,),) = store.query(query("whatif/n_patterns")) if numbers else ((0,),)
    ranks = [_rank(text, n_patterns) for text in numbers]
    for text in without:
        if not text.startswith("#"):
            utids |= _matching(text, tasks)
    by_dev = _factors(faster, dict(store.query("SELECT dev, name FROM device")))
    words = [f"without {' and '.join(map(_spoken, without))}"] if without else []
    words += [f"with {text.partition('=')[0]} {_times(text)} as fast" for text in faster]
    return Alteration(sorted(utids), ranks, by_dev, " and ".join(words))


def _spoken(text: str) -> str:
    head, _, rest = text.partition(":")
    if text.startswith("#"):
        return f"inversion {text}"
    return f"{rest} work" if head == "role" else text.removeprefix("comm:")


def _times(text: str) -> str:
    return f"{text.rpartition('=')[2].removesuffix('x')} times"


def _rank(text: str, n_patterns: int) -> int:
    rank = int(text[1:]) if text[1:].isdecimal() else 0
    if not 1 <= rank <= n_patterns:
        known = f"they go from #1 to #{n_patterns}" if n_patterns else "it has none"
        raise WhatIfError(f"the recording has no inversion {text}: {known}.")
    return rank


def _matching(text: str, tasks: Sequence[_Task]) -> set[int]:
    """Return the tasks that a selector names: not those whose requests are predicted."""
    head, colon, rest = text.partition(":")
    if colon and head == "role" and rest not in ROLES:
        raise WhatIfError(f"there is no role {rest!r}: use one of {', '.join(ROLES)}.")
    if colon and head in ("pid", "tid") and not rest.isdecimal():
        raise WhatIfError(f"{text!r} has no number: write {head}:1234.")
    found = [task for task in tasks if task.is_named(text)]
    others = [task for task in found if task.role != FOREGROUND]
    if found and not others:
        raise WhatIfError(
            f"{text} makes the requests: a what-if takes away other work. {_culprits(tasks)}"
        )
    if not found:
        raise WhatIfError(f"the recording has no task {text!r}. {_culprits(tasks)}")
    return {task.utid for task in others}


def blamed_tasks(store: Store) -> list[tuple[str, Alteration]]:
    """Return the culprits of a recording by name, the costliest first, and each taken away."""
    groups: dict[str, list[_Task]] = {}
    for task in store.rows(_Task, query("whatif/tasks")):
        if task.blamed_ns and task.role != FOREGROUND:
            groups.setdefault(generic_name(task.comm), []).append(task)
    names = sorted(groups, key=lambda name: -sum(task.blamed_ns for task in groups[name]))
    return [
        (name, Alteration([task.utid for task in groups[name]], label=f"without {name}"))
        for name in names
    ]


def _culprits(tasks: Sequence[_Task]) -> str:
    blamed: dict[str, int] = {}
    for task in tasks:
        if task.blamed_ns:
            name = generic_name(task.comm)
            blamed[name] = blamed.get(name, 0) + task.blamed_ns
    if not blamed:
        return "It blames nobody: `rcp-trace roles FILE` lists all tasks."
    names = sorted(blamed, key=lambda name: -blamed[name])
    more = ", …" if len(names) > _LISTED_MAX else ""
    return f"Culprits: {', '.join(names[:_LISTED_MAX])}{more}."


def _factors(faster: Sequence[str], devices: Mapping[int, str]) -> dict[int, float]:
    found: dict[int, float] = {}
    for text in faster:
        parsed = _FACTOR.fullmatch(text)
        if parsed is None or float(parsed["factor"]) < 1:
            raise WhatIfError(f"--faster {text!r}: write DEVICE=FACTOR, such as nvme0n1=2x.")
        name = parsed["device"]
        chosen = [dev for dev, known in devices.items() if name in ("device", known)]
        if not chosen:
            known = ", ".join(sorted(map(str, devices.values()))[:_LISTED_MAX]) or "none"
            raise WhatIfError(f"the recording has no device {name!r}; it has: {known}.")
        found |= dict.fromkeys(chosen, float(parsed["factor"]))
    return found
