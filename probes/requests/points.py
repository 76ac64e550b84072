"""``--request SPEC``: parsing, and lookup of the probe points in binaries."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from rcp.probes.contract.events import SOCKET_REQUEST_NR, UPROBE_REQUEST_NR
from rcp.probes.formats.elf import Elf, ElfError
from rcp.probes.kernel.features import RecordError
from rcp.probes.kernel.syscall_numbers import DEFAULT_SYSCALLS, NUMBERS
from rcp.probes.kernel.syscalls import numbers
from rcp.probes.requests.binaries import find_program
from rcp.probes.requests.forms import FORMS
from rcp.probes.requests.uprobe import Hook, require_uprobes

MAX_POINTS = 4  # sets of functions in points.bpf.c
_MAX_NEAR = 8
_SOCKET_TRACEPOINTS = ("sock_recv_length", "sock_send_length")


@dataclass(frozen=True)
class Points:
    """Probe points where one kind of request begins and ends."""

    name: str
    begin: tuple[Hook, ...]
    end: tuple[Hook, ...]
    """Empty when a request is one call of the function at ``begin``."""
    other_end: tuple[Hook, ...] = ()
    """Other ends, such as an abort; ``request.ret`` is 1 there."""

    @property
    def is_call(self) -> bool:
        """Whether a request lasts from a function's entry to its return."""
        return not self.end


@dataclass(frozen=True)
class Requests:
    """All kinds of request in one recording."""

    syscalls: dict[int, str] = field(
        default_factory=lambda: {NUMBERS[name]: name for name in DEFAULT_SYSCALLS}
    )
    """Number to name."""
    points: tuple[Points, ...] = ()
    socket: str = ""
    """Name of requests received on sockets, empty when they are not recorded."""

    @property
    def names(self) -> dict[int, str]:
        """Name of each kind of request by ``request.nr``."""
        return {**self.syscalls, **self.point_names}

    @property
    def point_names(self) -> dict[int, str]:
        """The same without syscalls: ``meta["request_points"]``."""
        named = {UPROBE_REQUEST_NR + i: points.name for i, points in enumerate(self.points)}
        return {**named, SOCKET_REQUEST_NR: self.socket} if self.socket else named


def _list_near(wanted: str, names: Iterable[str]) -> str:
    """Return up to eight similar names, first those that contain ``wanted``."""
    known = sorted(set(names))
    containing = [name for name in known if wanted.lower() in name.lower()]
    near = difflib.get_close_matches(wanted, known, _MAX_NEAR, cutoff=0.5)
    similar = list(dict.fromkeys((*containing, *near)))[:_MAX_NEAR]
    return ", ".join(similar or known[:_MAX_NEAR])


def _open_elf(path: Path) -> Elf:
    try:
        return Elf(path)
    except ElfError as error:
        raise RecordError(f"{path} is {error}.") from None
    except OSError as error:
        raise RecordError(
            f"cannot read {path}: {error.strerror}; give the path of a program."
        ) from None


def usdt_hooks(elf: Elf, provider: str, name: str) -> tuple[Hook, ...]:
    """Return all locations of one USDT probe; raise RecordError when there is none."""
    hooks = tuple(
        Hook(elf.path, usdt.offset, usdt.semaphore_offset)
        for usdt in elf.usdts
        if (usdt.provider, usdt.name) == (provider, name)
    )
    if hooks:
        return hooks
    if not elf.usdts:
        raise RecordError(
            f"{elf.path} has no USDT probes: use one built with them (--enable-dtrace, "
            "--with-dtrace), or uprobe:BIN:FUNCTION."
        )
    near = _list_near(f"{provider}:{name}", (f"{u.provider}:{u.name}" for u in elf.usdts))
    raise RecordError(f"{elf.path} has no USDT probe {provider}:{name}: choose from {near}.")


def function_hook(elf: Elf, name: str) -> Hook:
    """Return the entry of a function, C++ names unmangled; raise RecordError when it is absent."""
    mangled = f"_Z{len(name)}{name}"
    matches = [f for f in elf.functions if f == name] or [
        f for f in elf.functions if f.startswith(mangled)
    ]
    if len({elf.functions[f] for f in matches}) > 1:
        choice = ", ".join(sorted(matches)[:_MAX_NEAR])
        raise RecordError(f"{elf.path} has several functions {name}: choose from {choice}.")
    if matches:
        return Hook(elf.path, elf.functions[matches[0]])
    near = _list_near(name, elf.functions)
    if elf.is_stripped:
        raise RecordError(
            f"{elf.path} is stripped and exports no function {name}: install its debug symbols "
            f"(Debian: a -dbgsym package), or choose from {near}."
        )
    raise RecordError(f"{elf.path} has no function {name} (it may be inlined): choose from {near}.")


def _short_name(probe: str) -> str:
    """``transaction`` for the probe ``transaction__start``."""
    for suffix in ("start", "begin", "entry"):
        for joint in ("__", "-", "_"):
            if len(probe) > len(joint + suffix) and probe.endswith(joint + suffix):
                return probe.removesuffix(joint + suffix)
    return probe


# PostgreSQL's USDT probes are right after the call of the first function and right before that of
# the second; both are called once per transaction (docs/decisions/postgresql-transactions.md).
_POSTGRESQL_BEGIN, _POSTGRESQL_END = "VirtualXactLockTableInsert", "ProcArrayEndTransaction"


def _postgresql(elf: Elf, name: str) -> Points:
    if any(u.provider == "postgresql" and u.name == "transaction__start" for u in elf.usdts):
        begin, commit, abort = (
            usdt_hooks(elf, "postgresql", f"transaction__{step}")
            for step in ("start", "commit", "abort")
        )
        return Points(name or "transaction", begin, commit, abort)
    begin_hook, end_hook = (function_hook(elf, f) for f in (_POSTGRESQL_BEGIN, _POSTGRESQL_END))
    return Points(name or "transaction", (begin_hook,), (end_hook,))


def _usdt(elf: Elf, name: str, text: str) -> Points:
    provider, separator, probes = text.partition(":")
    begin, *ends = probes.split(",")
    if not separator or not provider or not ends or not all((begin, *ends)):
        raise RecordError(
            f"bad USDT points {text!r}: write PROVIDER:BEGIN,END, such as "
            "postgresql:transaction__start,transaction__commit."
        )
    first, *others = (usdt_hooks(elf, provider, end) for end in ends)
    other = tuple(hook for hooks in others for hook in hooks)
    return Points(name or _short_name(begin), usdt_hooks(elf, provider, begin), first, other)


def _uprobe(elf: Elf, name: str, text: str) -> Points:
    begin, *ends = text.split(",")
    if not all((begin, *ends)):
        raise RecordError(f"bad functions {text!r}: write FUNCTION or BEGIN,END.")
    hooks = tuple(function_hook(elf, end) for end in ends)
    short = _short_name(begin) if ends else begin
    return Points(name or short, (function_hook(elf, begin),), hooks[:1], hooks[1:])


_MAKERS: dict[str, Callable[[Elf, str, str], Points]] = {"usdt": _usdt, "uprobe": _uprobe}


def _split(spec: str) -> tuple[str, str, str]:
    """Split ``name=kind:rest`` into its parts; without a kind it is a list of syscalls."""
    head, separator, body = spec.partition("=")
    name, text = (head, body) if separator and ":" not in head else ("", spec)
    if separator and not name and ":" not in head:
        raise RecordError(f"bad request {spec!r}: the name before = is empty.")
    kind, separator, rest = text.partition(":")
    if not separator and kind not in ("socket", "postgresql"):
        return name, "syscall", text
    return name, kind, rest


def _points_of(spec: str, pids: Iterable[int]) -> Points | None:
    """Return the points of ``spec``, None when it is of another kind."""
    name, kind, rest = _split(spec)
    if kind == "postgresql":
        return _postgresql(_open_elf(find_program(rest or "postgres", pids)), name)
    if kind not in _MAKERS:
        return None
    program, separator, text = rest.partition(":")
    if not program or not separator or not text:
        raise RecordError(f"bad request {spec!r}: write {FORMS}.")
    return _MAKERS[kind](_open_elf(find_program(program, pids)), name, text)


def _syscalls_of(spec: str) -> list[str] | None:
    name, kind, rest = _split(spec)
    if kind != "syscall":
        return None
    if name:
        raise RecordError(f"bad request {spec!r}: a syscall cannot be renamed.")
    if not all(rest.split(",")):
        raise RecordError(f"bad request {spec!r}: write {FORMS}.")
    return [] if rest == "none" else rest.split(",")


def _socket_of(specs: Iterable[str], tracefs: Path | None) -> str:
    """Return the name of socket requests, empty when no spec has them."""
    for spec in specs:
        name, kind, rest = _split(spec)
        if kind != "socket":
            continue
        if rest:
            raise RecordError(f"bad request {spec!r}: write it without anything after socket.")
        events = tracefs and tracefs / "events/sock"
        if events and not all((events / name).is_dir() for name in _SOCKET_TRACEPOINTS):
            raise RecordError(
                "this kernel lacks the tracepoints sock:sock_recv_length and "
                "sock:sock_send_length, which came with Linux 6.3: choose uprobe or syscall "
                "requests."
            )
        return name or "socket"
    return ""


def resolve_requests(specs: Iterable[str], tracefs: Path | None, pids: Iterable[int]) -> Requests:
    """Resolve the specs to syscalls and probe points; raise RecordError for what is not there.

    Without any ``syscall:`` the default syscalls are recorded, so that other requests show the
    fsync calls inside them. Without ``tracefs`` nothing can be recorded, but a malformed spec is
    still told. ``pids`` are the target processes: a program named without a path is
    searched for among their files first.
    """
    specs, pids = tuple(specs), tuple(pids)
    for spec in specs:
        if _split(spec)[1] not in ("syscall", "socket", "postgresql", *_MAKERS):
            raise RecordError(f"bad request {spec!r}: write {FORMS}.")
    chosen = [names for spec in specs if (names := _syscalls_of(spec)) is not None]
    words = [word for words in chosen for word in words]
    syscalls = numbers(words if chosen else DEFAULT_SYSCALLS, tracefs)
    socket = _socket_of(specs, tracefs)
    points = tuple(found for spec in specs if (found := _points_of(spec, pids)))
    if len(points) > MAX_POINTS:
        raise RecordError(
            f"{len(points)} kinds of request at probe points, but at most {MAX_POINTS} can be "
            "recorded: leave some out."
        )
    if points:
        require_uprobes()
    return Requests(syscalls, points, socket)
