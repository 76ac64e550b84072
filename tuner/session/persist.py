"""Files that keep settings over a reboot: sysctl.d, udev, systemd, TuneD; and an undo script.

The head of each file says what made it, where to install it and which settings it cannot carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.disk import disk_id
from rcp.tuner.knobs.group_cell import IoprioCell
from rcp.tuner.knobs.handle import PROFILE, Handle
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.knobs.tree import Write
from rcp.tuner.session.kept import marks
from rcp.tuner.session.writer import by_rank

_SYSCTL = "/proc/sys/"


@dataclass(frozen=True)
class PersistFile:
    """What a file is made of: the writes of the settings, in order, and those that undo them."""

    made_by: str
    """The command line, for the head of the file."""
    disk: str
    device: str
    """MAJOR:MINOR of the disk."""
    writes: Mapping[str, tuple[Write, ...]]
    """By knob."""
    undo: Mapping[str, tuple[Write, ...]]
    resets_disk: bool = False
    """Whether one of the knobs resets the knobs of the disk's scheduler at each write."""
    not_persisted: Mapping[str, str] = field(default_factory=dict)
    """Knobs that no format can carry, with what to do instead."""
    disk_id: str = ""
    wanted: Mapping[str, tuple[Handle, Value]] = field(default_factory=dict)
    """Handle and value by knob, for ``verify``."""

    def sysctls(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) for sysctl."""
        yield from self._of(lambda place: place.startswith(_SYSCTL))

    def attributes(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) for attributes of the disk, its scheduler first."""
        places = (f"/sys/block/{self.disk}/", f"/sys/class/bdi/{self.device}/")
        yield from self._of(lambda place: place.startswith(places))

    def others(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) for every other write."""
        known = {write for _, write in (*self.sysctls(), *self.attributes())}
        for name, writes in self.writes.items():
            yield from ((name, write) for write in writes if write not in known)

    def _of(self, matches: Callable[[str], bool]) -> Iterator[tuple[str, Write]]:
        for name, writes in self.writes.items():
            yield from ((name, write) for write in writes if matches(write.place))


def persist_file(catalog: Catalog, settings: Settings, made_by: str) -> PersistFile:
    """Return the writes of *settings* on this machine; raises KnobError for unknown knobs.

    The undo writes the knobs' present values, so call this after the tuner has restored them.
    """
    handles = by_rank(catalog.handle(name) for name in settings)
    tree = catalog.tree
    not_persisted: dict[str, str] = {}
    writes: dict[str, tuple[Write, ...]] = {}
    for handle in handles:
        if isinstance(handle.cell, IoprioCell):
            not_persisted[handle.name] = _for_tasks(str(settings[handle.name]))
            continue
        state = handle.cell.state_of(tree, settings[handle.name])
        # Of several writes the last one sets the value.
        writes[handle.name] = handle.cell.writes(tree, state)[-1:]
    resets = any(handle.rank == PROFILE for handle in handles)
    device = tree.read(f"/sys/block/{catalog.disk}/dev")
    undo = _undo(catalog, [handle for handle in handles if handle.name in writes])
    return PersistFile(
        made_by=made_by,
        disk=catalog.disk,
        device=device,
        writes=writes,
        undo=undo,
        resets_disk=resets,
        not_persisted=not_persisted,
        disk_id=disk_id(tree, catalog.disk),
        wanted={handle.name: (handle, settings[handle.name]) for handle in handles},
    )


def _undo(catalog: Catalog, handles: list[Handle]) -> dict[str, tuple[Write, ...]]:
    """Return the writes that restore the present states of *handles* and of what they reset."""
    known = dict(catalog.handles) | {handle.name: handle for handle in catalog.besides()}
    names = {handle.name for handle in handles}
    for handle in handles:
        # Writing a profile restores its knobs, unless single ones were changed since.
        if handle.rank != PROFILE or catalog.read(handle.name) == "custom":
            names.update(handle.may_change(known))
    undo: dict[str, tuple[Write, ...]] = {}
    last: dict[str, tuple[Write, ...]] = {}
    for handle in by_rank(handle for name, handle in known.items() if name in names):
        with suppress(KnobError):  # of another scheduler
            state = handle.cell.state(catalog.tree)
            # A profile that reads its own name comes last: a write of any knob makes it custom.
            whole = handle.rank == PROFILE and state != "custom"
            (last if whole else undo)[handle.name] = handle.cell.writes(catalog.tree, state)
    return undo | last


def _for_tasks(priority: str) -> str:
    kind, _, level = priority.partition("/")
    words = {"rt": "realtime", "be": "best-effort", "idle": "idle", "none": "none"}
    more = f" and IOSchedulingPriority={level}" if level else ""
    return f"set it in the service that starts the tasks: IOSchedulingClass={words[kind]}{more}."


def _head(file: PersistFile, lines: tuple[str, ...], elsewhere: Mapping[str, str]) -> str:
    """Return the comment at the head; *elsewhere*: knobs of another file, with which one."""
    head = [f"Made by `{file.made_by}` for {file.disk}.", *lines]
    missing = {**elsewhere, **dict(file.not_persisted)}
    head += [f"Not in this file: {name}: {where}" for name, where in missing.items()]
    return "".join(f"# {line}\n" for line in head)


def _whole(head: str, file: PersistFile, carried: Iterable[str], body: str) -> str:
    """Return a file: its head, what it carries for ``rcp-tune verify``, and its body."""
    disk = {"disk": file.disk, "disk_id": file.disk_id, "device": file.device}
    names = set(carried)
    knobs = [pair for name, pair in file.wanted.items() if name in names]
    return f"{head}{marks(disk, knobs, body)}\n{body}"


def _elsewhere(*parts: tuple[str, Iterator[tuple[str, Write]]]) -> dict[str, str]:
    return {name: f"see --format {kind}." for kind, found in parts for name, _ in found}


def sysctl(file: PersistFile) -> str:
    """Return a file for /etc/sysctl.d."""
    lines = (
        "Install as /etc/sysctl.d/60-rcp-tune.conf, then run: sysctl --system",
        "To undo, remove it and run the script of --format undo.",
    )
    elsewhere = _elsewhere(("udev", file.attributes()), ("systemd", file.others()))
    found = list(file.sysctls())
    body = "".join(
        f"{write.place.removeprefix(_SYSCTL).replace('/', '.')} = {write.text}\n"
        for _, write in found
    )
    return _whole(_head(file, lines, elsewhere), file, (name for name, _ in found), body)


def udev(file: PersistFile) -> str:
    """Return udev rules that set the disk's values whenever it appears, the scheduler first."""
    lines = (
        "Install as /etc/udev/rules.d/60-rcp-tune.rules, then run:",
        f"udevadm control --reload && udevadm trigger --action=change /sys/block/{file.disk}",
        "If the disk's name may change, match another key than KERNEL; see udevadm info.",
        "To undo, remove it and run the script of --format undo.",
    )
    elsewhere = _elsewhere(("sysctl", file.sysctls()), ("systemd", file.others()))
    rule = [
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk"',
        f'KERNEL=="{file.disk}"',
    ]
    found = list(file.attributes())
    rule += [f'ATTR{{{_attribute(file, write.place)}}}="{write.text}"' for _, write in found]
    body = ", \\\n  ".join(rule) + "\n" if found else ""
    return _whole(_head(file, lines, elsewhere), file, (name for name, _ in found), body)


def _attribute(file: PersistFile, place: str) -> str:
    """Return the path below the disk's folder, where the link bdi leads to /sys/class/bdi."""
    return place.removeprefix(f"/sys/block/{file.disk}/").replace(
        f"/sys/class/bdi/{file.device}/", "bdi/"
    )


def systemd(file: PersistFile) -> str:
    """Return a systemd unit for what neither sysctl nor udev carries."""
    lines = (
        "Install as /etc/systemd/system/rcp-tune.service, then run:",
        "systemctl daemon-reload && systemctl enable --now rcp-tune.service",
        "To undo: systemctl disable --now rcp-tune.service",
    )
    others = list(file.others())
    if file.resets_disk:
        # Writing a profile resets what udev has set.
        others += [pair for pair in file.attributes() if "/iosched/" in pair[1].place]
    elsewhere = _elsewhere(("sysctl", file.sysctls()), ("udev", file.attributes()))
    carried = {name for name, _ in others}
    elsewhere = {name: where for name, where in elsewhere.items() if name not in carried}
    undo = [write for name, writes in file.undo.items() if name in carried for write in writes]
    unit = [
        "[Unit]",
        f"Description=Settings of {file.disk} that rcp-tune found",
        f"After=local-fs.target dev-{file.disk}.device",
        f"Wants=dev-{file.disk}.device",
        "",
        "[Service]",
        "Type=oneshot",
        "RemainAfterExit=yes",
        *(f"ExecStart={_command(write)}" for _, write in others),
        *(f"ExecStop={_command(write)}" for write in undo),
        "",
        "[Install]",
        "WantedBy=multi-user.target",
    ]
    return _whole(_head(file, lines, elsewhere), file, carried, "\n".join(unit) + "\n")


def _command(write: Write) -> str:
    """Return a write as a command of a unit; % and $ are escaped."""
    quote = '"' if "'" in write.line else "'"
    return f"/bin/sh -c {quote}{write.line}{quote}".replace("%", "%%").replace("$", "$$")


def tuned(file: PersistFile) -> str:
    """Return a TuneD profile."""
    lines = (
        "Install as /etc/tuned/rcp-tune/tuned.conf, then run: tuned-adm profile rcp-tune",
        "To add it to the profile in use, write `include=THAT PROFILE` below [main].",
        "TuneD may fail to restore vm.dirty_*bytes: then run the script of --format undo.",
    )
    files = [pair for pair in (*file.attributes(), *file.others()) if pair[1].place[0] == "/"]
    # In the order of the writes: a profile of rcp before the knobs it resets.
    order = {name: place for place, name in enumerate(file.writes)}
    files.sort(key=lambda pair: order[pair[0]])
    carried = {name for name, _ in files}
    missing = ((name, write) for name, write in file.others() if name not in carried)
    elsewhere = _elsewhere(("systemd", missing))
    text = "[main]\n" + f"summary=Settings of {file.disk} that rcp-tune found\n"
    if sysctls := list(file.sysctls()):
        text += "\n[sysctl]\n"
        for _, write in sysctls:
            name = write.place.removeprefix(_SYSCTL).replace("/", ".")
            text += f"{name}={write.text}\n"
    if files:
        text += "\n[sysfs]\n" + "".join(f"{write.place}={write.text}\n" for _, write in files)
    carried |= {name for name, _ in sysctls}
    return _whole(_head(file, lines, elsewhere), file, carried, text)


def undo(file: PersistFile) -> str:
    """Return a script that restores the values at the time the files were made."""
    lines = ("Run as root once the files of the other formats are removed.",)
    body = "".join(f"{write.line}\n" for writes in file.undo.values() for write in writes)
    return "#!/bin/sh\n" + _head(file, lines, {}) + "\n" + body


_WRITES_OF_FORMAT: Mapping[str, Callable[[PersistFile], Iterator[tuple[str, Write]]]] = {
    "sysctl": PersistFile.sysctls,
    "udev": PersistFile.attributes,
    "systemd": PersistFile.others,
}


def _carried(file: PersistFile) -> dict[str, set[str]]:
    """Return the settings by the format that carries them; a format that carries none is absent."""
    found = {kind: {name for name, _ in part(file)} for kind, part in _WRITES_OF_FORMAT.items()}
    return {kind: names for kind, names in found.items() if names}


def _as_options(kinds: Iterable[str]) -> str:
    return " and ".join(f"--format {kind}" for kind in kinds)


def best_format(file: PersistFile) -> tuple[str, str]:
    """Return the format that carries most of the settings, and the options for the rest."""
    carried = _carried(file)
    best = max(_WRITES_OF_FORMAT, key=lambda kind: len(carried.get(kind, ())))
    return best, _as_options(kind for kind in carried if kind != best)


def check_carries(file: PersistFile, kind: str) -> None:
    """Raise KnobError if a file of a format would set nothing: systemd refuses such a unit."""
    carried = _carried(file)
    if kind in carried or (kind not in _WRITES_OF_FORMAT and carried):
        return
    if carried:
        use = _as_options(carried)
        raise KnobError(f"--format {kind} carries none of these settings: use {use}.")
    name, instead = next(iter(file.not_persisted.items()), ("", "there are no settings."))
    raise KnobError(f"no file carries these settings: {name}{': ' if name else ''}{instead}")


FORMATS: Mapping[str, Callable[[PersistFile], str]] = {
    "sysctl": sysctl,
    "udev": udev,
    "systemd": systemd,
    "tuned": tuned,
    "undo": undo,
}
"""Functions that make the text, by the value of ``--format``."""
