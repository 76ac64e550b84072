"""Files that make settings stay: sysctl.d, udev, systemd, TuneD, and a script that undoes them.

Each kind of file says in its head what made it, where it goes and what it cannot carry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.catalog import Catalog
from rcp.tuner.knobs.group_cell import IoprioCell
from rcp.tuner.knobs.handle import PROFILE, Handle
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.knobs.tree import Write
from rcp.tuner.session.writer import by_rank

_SYSCTL = "/proc/sys/"


@dataclass(frozen=True)
class Kept:
    """Settings as the writes they take, in order, and those that take them back."""

    made_by: str
    """The command, for the heads of the files."""
    disk: str
    device: str
    """MAJOR:MINOR of the disk."""
    writes: Mapping[str, tuple[Write, ...]]
    """By knob."""
    undo: Mapping[str, tuple[Write, ...]]
    resets_disk: bool = False
    """Whether one of the knobs resets those of the disk's scheduler whenever it is written."""
    unkept: Mapping[str, str] = field(default_factory=dict)
    """Knobs that no file carries, and what to do instead."""

    def sysctls(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) of what sysctl knows."""
        yield from self._of(lambda place: place.startswith(_SYSCTL))

    def attributes(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) of what belongs to the disk, its scheduler first."""
        places = (f"/sys/block/{self.disk}/", f"/sys/class/bdi/{self.device}/")
        yield from self._of(lambda place: place.startswith(places))

    def others(self) -> Iterator[tuple[str, Write]]:
        """Yield (knob, write) of the rest."""
        known = {write for _, write in (*self.sysctls(), *self.attributes())}
        for name, writes in self.writes.items():
            yield from ((name, write) for write in writes if write not in known)

    def _of(self, fits: Callable[[str], bool]) -> Iterator[tuple[str, Write]]:
        for name, writes in self.writes.items():
            yield from ((name, write) for write in writes if fits(write.place))


def kept(catalog: Catalog, settings: Settings, made_by: str) -> Kept:
    """Return the writes of settings on this machine; raises KnobError for unknown knobs.

    What they undo is what the knobs hold now: keep settings after the tuner has put all back.
    """
    handles = by_rank(catalog.handle(name) for name in settings)
    tree = catalog.tree
    unkept: dict[str, str] = {}
    writes: dict[str, tuple[Write, ...]] = {}
    for handle in handles:
        if isinstance(handle.cell, IoprioCell):
            unkept[handle.name] = _for_tasks(str(settings[handle.name]))
            continue
        state = handle.cell.state_of(tree, settings[handle.name])
        # The last of several writes is the one that tells the value.
        writes[handle.name] = handle.cell.writes(tree, state)[-1:]
    resets = any(handle.rank == PROFILE for handle in handles)
    device = tree.read(f"/sys/block/{catalog.disk}/dev")
    undo = _undo(catalog, [handle for handle in handles if handle.name in writes])
    return Kept(made_by, catalog.disk, device, writes, undo, resets, unkept)


def _undo(catalog: Catalog, handles: list[Handle]) -> dict[str, tuple[Write, ...]]:
    """Return the writes that put back what is there now, and what writing *handles* resets."""
    known = dict(catalog.handles) | {handle.name: handle for handle in catalog.besides()}
    names = {handle.name for handle in handles}
    for handle in handles:
        # A profile brings its own knobs with it, unless single ones were changed since.
        if handle.rank != PROFILE or catalog.read(handle.name) == "custom":
            names.update(handle.may_change(known))
    undo: dict[str, tuple[Write, ...]] = {}
    last: dict[str, tuple[Write, ...]] = {}
    for handle in by_rank(handle for name, handle in known.items() if name in names):
        with suppress(KnobError):  # of another scheduler
            state = handle.cell.state(catalog.tree)
            # A profile that reads its name is whole: it comes last, as any knob makes it custom.
            whole = handle.rank == PROFILE and state != "custom"
            (last if whole else undo)[handle.name] = handle.cell.writes(catalog.tree, state)
    return undo | last


def _for_tasks(priority: str) -> str:
    kind, _, level = priority.partition("/")
    words = {"rt": "realtime", "be": "best-effort", "idle": "idle", "none": "none"}
    more = f" and IOSchedulingPriority={level}" if level else ""
    return f"tasks get it when they start: IOSchedulingClass={words[kind]}{more} in their service."


def _head(kept: Kept, lines: tuple[str, ...], elsewhere: Mapping[str, str]) -> str:
    """Return the comment a file begins with; *elsewhere* are knobs of which another one tells."""
    told = [f"Made by `{kept.made_by}` for {kept.disk}.", *lines]
    missing = {**elsewhere, **dict(kept.unkept)}
    told += [f"Not in this file: {name}: {where}" for name, where in missing.items()]
    return "".join(f"# {line}\n" for line in told)


def _elsewhere(*parts: tuple[str, Iterator[tuple[str, Write]]]) -> dict[str, str]:
    return {name: f"see --format {kind}." for kind, found in parts for name, _ in found}


def sysctl(kept: Kept) -> str:
    """Return a file for /etc/sysctl.d."""
    lines = (
        "Install as /etc/sysctl.d/60-rcp-tune.conf, then run: sysctl --system",
        "To take it back, remove it and run the script of --format undo.",
    )
    elsewhere = _elsewhere(("udev", kept.attributes()), ("systemd", kept.others()))
    body = (
        f"{write.place.removeprefix(_SYSCTL).replace('/', '.')} = {write.text}\n"
        for _, write in kept.sysctls()
    )
    return _head(kept, lines, elsewhere) + "\n" + "".join(body)


def udev(kept: Kept) -> str:
    """Return a file of rules: whenever the disk appears it gets its values, the scheduler first."""
    lines = (
        "Install as /etc/udev/rules.d/60-rcp-tune.rules, then run:",
        f"udevadm control --reload && udevadm trigger --action=change /sys/block/{kept.disk}",
        "A disk's name may change: KERNEL can be replaced by another key that udevadm info tells.",
        "To take it back, remove it and run the script of --format undo.",
    )
    elsewhere = _elsewhere(("sysctl", kept.sysctls()), ("systemd", kept.others()))
    rule = [
        'ACTION=="add|change", SUBSYSTEM=="block", ENV{DEVTYPE}=="disk"',
        f'KERNEL=="{kept.disk}"',
    ]
    rule += [
        f'ATTR{{{_attribute(kept, write.place)}}}="{write.text}"' for _, write in kept.attributes()
    ]
    body = ", \\\n  ".join(rule) + "\n" if len(rule) > 2 else ""
    return _head(kept, lines, elsewhere) + "\n" + body


def _attribute(kept: Kept, place: str) -> str:
    """Return the path below the disk's folder, where bdi is a link to its share of the cache."""
    return place.removeprefix(f"/sys/block/{kept.disk}/").replace(
        f"/sys/class/bdi/{kept.device}/", "bdi/"
    )


def systemd(kept: Kept) -> str:
    """Return a unit for what neither sysctl nor udev carries."""
    lines = (
        "Install as /etc/systemd/system/rcp-tune.service, then run:",
        "systemctl daemon-reload && systemctl enable --now rcp-tune.service",
        "To take it back: systemctl disable --now rcp-tune.service",
    )
    others = list(kept.others())
    if kept.resets_disk:
        # A profile resets what udev has set.
        others += [pair for pair in kept.attributes() if "/iosched/" in pair[1].place]
    elsewhere = _elsewhere(("sysctl", kept.sysctls()), ("udev", kept.attributes()))
    carried = {name for name, _ in others}
    elsewhere = {name: where for name, where in elsewhere.items() if name not in carried}
    undo = [write for name, writes in kept.undo.items() if name in carried for write in writes]
    unit = [
        "[Unit]",
        f"Description=Settings of {kept.disk} that rcp-tune found",
        f"After=local-fs.target dev-{kept.disk}.device",
        f"Wants=dev-{kept.disk}.device",
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
    return _head(kept, lines, elsewhere) + "\n" + "\n".join(unit) + "\n"


def _command(write: Write) -> str:
    """Return a write as a command of a unit, in which % and $ have meanings of their own."""
    quote = '"' if "'" in write.line else "'"
    return f"/bin/sh -c {quote}{write.line}{quote}".replace("%", "%%").replace("$", "$$")


def tuned(kept: Kept) -> str:
    """Return a profile for TuneD."""
    lines = (
        "Install as /etc/tuned/rcp-tune/tuned.conf, then run: tuned-adm profile rcp-tune",
        "To add it to the profile in use, put `include=THAT PROFILE` below [main].",
        "TuneD may fail to put vm.dirty_*bytes back: run the script of --format undo then.",
    )
    files = [pair for pair in (*kept.attributes(), *kept.others()) if pair[1].place[0] == "/"]
    # In the order of writing: a profile of rcp before what it resets.
    order = {name: place for place, name in enumerate(kept.writes)}
    files.sort(key=lambda pair: order[pair[0]])
    carried = {name for name, _ in files}
    missing = ((name, write) for name, write in kept.others() if name not in carried)
    elsewhere = _elsewhere(("systemd", missing))
    text = "[main]\n" + f"summary=Settings of {kept.disk} that rcp-tune found\n"
    if sysctls := list(kept.sysctls()):
        text += "\n[sysctl]\n"
        for _, write in sysctls:
            name = write.place.removeprefix(_SYSCTL).replace("/", ".")
            text += f"{name}={write.text}\n"
    if files:
        text += "\n[sysfs]\n" + "".join(f"{write.place}={write.text}\n" for _, write in files)
    return _head(kept, lines, elsewhere) + "\n" + text


def undo(kept: Kept) -> str:
    """Return a script that writes what the knobs held when the files were made."""
    lines = ("Run as root once the files of the other formats are removed.",)
    body = "".join(f"{write.line}\n" for writes in kept.undo.values() for write in writes)
    return "#!/bin/sh\n" + _head(kept, lines, {}) + "\n" + body


FORMATS: Mapping[str, Callable[[Kept], str]] = {
    "sysctl": sysctl,
    "udev": udev,
    "systemd": systemd,
    "tuned": tuned,
    "undo": undo,
}
"""By the word of ``--format``."""
