"""Cells of tasks and of control groups."""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from rcp.tuner.knobs import ioprio
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree, Write


@dataclass(frozen=True)
class Group:
    """Some tasks of the machine: by thread name, process or control group."""

    comms: tuple[str, ...] = ()
    """Globs of thread names."""
    pids: tuple[int, ...] = ()
    cgroup: str = ""
    """Folder of a control group below /sys/fs/cgroup; empty: none."""


@dataclass(frozen=True)
class Groups:
    """The foreground tasks and the background tasks."""

    foreground: Group = field(default_factory=Group)
    background: Group = field(default_factory=Group)


def groups_text(groups: Groups) -> str:
    """Return groups as JSON, for a study; "" if there are none."""
    return json.dumps(asdict(groups)) if groups != Groups() else ""


def groups_from(text: str) -> Groups:
    """Return the groups that ``groups_text`` described."""
    if not text:
        return Groups()

    def group(table: dict[str, Any]) -> Group:
        return Group(tuple(table["comms"]), tuple(table["pids"]), table["cgroup"])

    return Groups(**{role: group(table) for role, table in json.loads(text).items()})


@dataclass(frozen=True)
class IoprioCell:
    """The I/O priorities of a group's threads, as ``TID.START=PRIORITY`` for each.

    START is the thread's start in clock ticks since boot, because tids are reused.
    """

    kind: ClassVar[str] = "ioprio"
    rounds: ClassVar[bool] = False
    comms: tuple[str, ...]
    pids: tuple[int, ...]

    def _threads(self, tree: Tree) -> Iterator[tuple[int, str]]:
        # Thread names need a scan of all tasks, pids do not.
        all_pids = (int(name) for name in tree.names("/proc") if name.isdigit())
        for pid in all_pids if self.comms else self.pids:
            for tid in (int(name) for name in tree.names(f"/proc/{pid}/task")):
                comm, start = _name_and_start(tree, f"/proc/{pid}/task/{tid}")
                named = any(fnmatch.fnmatchcase(comm, glob) for glob in self.comms)
                if start and (named or pid in self.pids):
                    yield tid, start

    def state(self, tree: Tree) -> str:
        """Return the priority of each existing thread."""
        words = []
        for tid, start in self._threads(tree):
            try:
                words.append(f"{tid}.{start}={ioprio.priority(tid)}")
            except OSError:
                continue  # ended meanwhile
        return " ".join(words)

    def value(self, state: str) -> Value:
        """Return the common priority, or ``mixed``; ``none`` without threads."""
        found = set(_words(state).values())
        return found.pop() if len(found) == 1 else "mixed" if found else "none"

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return that priority for each existing thread."""
        return " ".join(f"{tid}.{start}={value}" for tid, start in self._threads(tree))

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write for each thread that still exists."""
        alive = {f"{tid}.{start}" for tid, start in self._threads(tree)}
        return tuple(
            Write(f"ioprio:{key.partition('.')[0]}", text)
            for key, text in _words(state).items()
            if key in alive
        )

    def same(self, one: str, other: str) -> bool:
        """Whether the threads in both states have the same priorities."""
        first, second = _words(one), _words(other)
        return all(second.get(key, text) == text for key, text in first.items())


def _words(state: str) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in state.split())


def _name_and_start(tree: Tree, folder: str) -> tuple[str, str]:
    """Return a thread's name and start time; both empty if it has ended."""
    try:
        text = tree.path(f"{folder}/stat").read_text()
    except OSError:
        return "", ""
    # The name may contain spaces and brackets: it ends at the last bracket.
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()[19]


@dataclass(frozen=True)
class LineCell:
    """One number in a control group's file with a line per device, such as io.max.

    *off* is the word for no limit; the kernel shows no line then.
    """

    kind: ClassVar[str] = "line"
    rounds: ClassVar[bool] = True
    place: str
    device: str
    """MAJOR:MINOR, or ``default``."""
    key: str
    """The key, such as ``wbps``; empty if the line has the number alone."""
    off: str

    def state(self, tree: Tree) -> str:
        """Return the number, or the word for no limit."""
        for line in tree.read(self.place).splitlines():
            device, *words = line.split()
            if device != self.device:
                continue
            if not self.key:
                return words[0]
            found = dict(word.partition("=")[::2] for word in words)
            return found.get(self.key, self.off)
        return self.off

    def value(self, state: str) -> Value:
        """Return the number; 0: no limit."""
        return 0 if state == self.off else int(state)

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the number as text."""
        return str(value) if value else self.off

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one line."""
        return (Write(self.place, f"{self.device} {self.key}{'=' * bool(self.key)}{state}"),)

    def same(self, one: str, other: str) -> bool:
        """Whether the texts are the same."""
        return one == other


# Initial parameters of resctl-bench: 95 % within the target, the device slowed to a tenth at most.
_QOS = "enable=1 ctrl=user rpct=95.00 rlat={0} wpct=95.00 wlat={0} min=10.00 max=100.00"
_QOS_OFF = "enable=0 ctrl=auto"


@dataclass(frozen=True)
class CostCell:
    """io.cost's latency target of a disk in µs, for reads and writes; 0: off.

    A disk that never had a target has no line. That cannot be restored, but off is equivalent.
    """

    kind: ClassVar[str] = "cost"
    rounds: ClassVar[bool] = False
    place: str
    device: str

    def state(self, tree: Tree) -> str:
        """Return the disk's line; without one, the line of a disk that is off."""
        for line in tree.read(self.place).splitlines():
            device, _, rest = line.partition(" ")
            if device == self.device:
                return rest
        return _QOS_OFF

    def value(self, state: str) -> Value:
        """Return the target for reads; 0: off."""
        words = _words(state)
        return int(words.get("rlat", "0")) if words.get("enable") == "1" else 0

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the line for a target."""
        return _QOS.format(value) if value else _QOS_OFF

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one line."""
        return (Write(self.place, f"{self.device} {state}"),)

    def same(self, one: str, other: str) -> bool:
        """Whether both are off, or equal."""
        first, second = _words(one), _words(other)
        return first == second or first.get("enable") == second.get("enable") == "0"
