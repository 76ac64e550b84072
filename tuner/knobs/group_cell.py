"""Cells of tasks and of control groups."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from rcp.tuner.knobs import ioprio
from rcp.tuner.knobs.knob import Value
from rcp.tuner.knobs.tree import Tree, Write


@dataclass(frozen=True)
class Group:
    """Some tasks of the machine: by the names of their threads, by process, by control group."""

    comms: tuple[str, ...] = ()
    """Globs of thread names."""
    pids: tuple[int, ...] = ()
    cgroup: str = ""
    """Folder of a control group below /sys/fs/cgroup, empty for none."""


@dataclass(frozen=True)
class Groups:
    """Whose I/O users wait for, and whose they do not."""

    foreground: Group = field(default_factory=Group)
    background: Group = field(default_factory=Group)


@dataclass(frozen=True)
class IoprioCell:
    """The I/O priority of the threads of a group, as ``TID.START=PRIORITY`` for each.

    START is when a thread began, in clock ticks since boot: a tid is used again.
    """

    kind: ClassVar[str] = "ioprio"
    rounds: ClassVar[bool] = False
    comms: tuple[str, ...]
    pids: tuple[int, ...]

    def _threads(self, tree: Tree) -> Iterator[tuple[int, str]]:
        # Names take a look at every task there is, processes do not.
        everyone = (int(name) for name in tree.names("/proc") if name.isdigit())
        for pid in everyone if self.comms else self.pids:
            for tid in (int(name) for name in tree.names(f"/proc/{pid}/task")):
                comm, start = _told(tree, f"/proc/{pid}/task/{tid}")
                named = any(fnmatch.fnmatchcase(comm, glob) for glob in self.comms)
                if start and (named or pid in self.pids):
                    yield tid, start

    def state(self, tree: Tree) -> str:
        """Return the priority of each thread there is now."""
        words = []
        for tid, start in self._threads(tree):
            try:
                words.append(f"{tid}.{start}={ioprio.priority(tid)}")
            except OSError:
                continue  # ended meanwhile
        return " ".join(words)

    def value(self, state: str) -> Value:
        """Return the priority all threads have, or ``mixed``; ``none`` if there are none."""
        found = set(_words(state).values())
        return found.pop() if len(found) == 1 else "mixed" if found else "none"

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return that priority for each thread there is now."""
        return " ".join(f"{tid}.{start}={value}" for tid, start in self._threads(tree))

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one write for each thread that is still there."""
        alive = {f"{tid}.{start}" for tid, start in self._threads(tree)}
        return tuple(
            Write(f"ioprio:{key.partition('.')[0]}", text)
            for key, text in _words(state).items()
            if key in alive
        )

    def same(self, one: str, other: str) -> bool:
        """Whether the threads that both know have the same priorities."""
        first, second = _words(one), _words(other)
        return all(second.get(key, text) == text for key, text in first.items())


def _words(state: str) -> dict[str, str]:
    return dict(word.partition("=")[::2] for word in state.split())


def _told(tree: Tree, folder: str) -> tuple[str, str]:
    """Return a thread's name and start time; empty if it ended."""
    try:
        text = tree.path(f"{folder}/stat").read_text()
    except OSError:
        return "", ""
    # The name may hold blanks and brackets: it ends at the last bracket.
    name, _, rest = text.partition("(")[2].rpartition(")")
    return name, rest.split()[19]


@dataclass(frozen=True)
class LineCell:
    """One number in a control group's file of a line for each device, as io.max.

    *off* is what stands for no limit; the kernel shows no line then.
    """

    kind: ClassVar[str] = "line"
    rounds: ClassVar[bool] = True
    place: str
    device: str
    """MAJOR:MINOR, or ``default``."""
    key: str
    """As ``wbps``; empty where the line holds the number alone."""
    off: str

    def state(self, tree: Tree) -> str:
        """Return the number, or what stands for none."""
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
        """Return the number; 0 for none."""
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


# As resctl-bench's users start: 95 of 100 within the target, the device slowed to a tenth at most.
_QOS = "enable=1 ctrl=user rpct=95.00 rlat={0} wpct=95.00 wlat={0} min=10.00 max=100.00"
_QOS_OFF = "enable=0 ctrl=auto"


@dataclass(frozen=True)
class CostCell:
    """io.cost's latency target of a disk in µs for reads and writes alike, 0 for off.

    A disk that was never given one has no line; there is no way back to that, and off is the same.
    """

    kind: ClassVar[str] = "cost"
    rounds: ClassVar[bool] = False
    place: str
    device: str

    def state(self, tree: Tree) -> str:
        """Return the disk's line; that of a disk switched off where there is none."""
        for line in tree.read(self.place).splitlines():
            device, _, rest = line.partition(" ")
            if device == self.device:
                return rest
        return _QOS_OFF

    def value(self, state: str) -> Value:
        """Return the target of reads; 0 while it is off."""
        words = _words(state)
        return int(words.get("rlat", "0")) if words.get("enable") == "1" else 0

    def state_of(self, tree: Tree, value: Value) -> str:
        """Return the line for a target."""
        return _QOS.format(value) if value else _QOS_OFF

    def writes(self, tree: Tree, state: str) -> tuple[Write, ...]:
        """Return one line."""
        return (Write(self.place, f"{self.device} {state}"),)

    def same(self, one: str, other: str) -> bool:
        """Whether both are off, or say the same."""
        first, second = _words(one), _words(other)
        return first == second or first.get("enable") == second.get("enable") == "0"
