"""Knobs of the patched kernel: /sys/kernel/rcp, and those of a disk under the scheduler rcp."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.knobs.cell import ChosenCell, FileCell, ProfileCell
from rcp.tuner.knobs.handle import PROFILE, Handle
from rcp.tuner.knobs.knob import Knob, Value
from rcp.tuner.knobs.stock import Found
from rcp.tuner.knobs.tree import Tree

_RCP = "/sys/kernel/rcp"
_QUEUE = ("queue", "device", "flush")
_SLOTS = ("admission_slot", "admission_tag")
_DIRTY = ("dirty_throttle", "io_dependency", "condition")
_SWITCH: tuple[Value, ...] = (0, 1)

# name, what it is, default, choices, kinds it helps against
_WORDS: tuple[tuple[str, str, Value, tuple[Value, ...], tuple[str, ...]], ...] = (
    ("enable", "whether anything of rcp is on", 0, _SWITCH, (*_QUEUE, *_SLOTS, *_DIRTY)),
    ("classify.rt_is_critical", "I/O class RT is critical", 1, _SWITCH, _QUEUE),
    (
        *("classify.default", "what nobody marked is", "noncritical"),
        *(("noncritical", "critical"), _QUEUE),
    ),
    ("classify.fork_reset", "children begin without a mark", 1, _SWITCH, _QUEUE),
    ("classify.async_write_critical", "writeback of the critical is too", 0, _SWITCH, _QUEUE),
    ("classify.readahead_critical", "readahead of the critical is too", 1, _SWITCH, _QUEUE),
    ("dirty.enable", "non-critical writers have a dirty limit", 0, _SWITCH, _DIRTY),
)
# name, what it is, unit, default, low, high, other values
_DIRTY_NUMBERS: tuple[tuple[str, str, str, int, int, int, tuple[int, ...]], ...] = (
    ("noncrit_permille", "share of memory they may dirty", "‰", 10, 1, 500, ()),
    ("noncrit_kb", "the same in KiB; 0: the share says", "KiB", 0, 1024, 1 << 24, (0,)),
    ("noncrit_bg_percent", "share of the limit where writeback starts", "%", 50, 5, 95, ()),
    ("max_pause_ms", "longest pause of a writer", "ms", 20, 1, 200, ()),
)
_ANY = "; 0: any number"
_IOSCHED_NUMBERS: tuple[tuple[str, str, str, int, int, int, tuple[int, ...], tuple[str, ...]], ...]
_IOSCHED_NUMBERS = (
    ("tokens", f"non-critical requests at the device{_ANY}", "requests", 1, 1, 256, (0,), _QUEUE),
    ("hold_ms", "tokens apply so long after critical I/O", "ms", 1000, 1, 60_000, (0,), _QUEUE),
    ("starve_ms", "longest time without a non-critical dispatch", "ms", 10, 1, 1000, (0,), _QUEUE),
    ("starve_batch", "non-critical requests that then go", "requests", 1, 1, 64, (), _QUEUE),
    (
        *("slots_critical", f"critical requests allocated{_ANY}", "requests"),
        *(128, 8, 1024, (0,), _SLOTS),
    ),
    (
        *("slots_noncritical", f"other requests allocated{_ANY}", "requests"),
        *(128, 8, 1024, (0,), _SLOTS),
    ),
)
_IOSCHED_WORDS: tuple[tuple[str, str, Value, tuple[Value, ...]], ...] = (
    ("token_mode", "whether critical requests use up tokens", "noncrit", ("noncrit", "total")),
    ("starve_over_tokens", "the starving need no token", 0, _SWITCH),
    ("sort_noncritical", "others go by sector", 1, _SWITCH),
    ("device_prio", "1: tell the device who is critical; 2: and who is not", 0, (0, 1, 2)),
)


def available(tree: Tree) -> bool:
    """Whether the kernel has the patch."""
    return tree.exists(f"{_RCP}/profile")


def rcp_knobs(tree: Tree) -> Iterator[Found]:
    """Yield the knobs below /sys/kernel/rcp."""
    profile = ProfileCell(f"{_RCP}/profile", f"{_RCP}/enable")
    choices = ("off", "rcp", "ld", "no-cache", "no-block")
    helps = (*_QUEUE, *_SLOTS, *_DIRTY)
    yield (
        Knob(
            *("rcp.profile", "settings of rcp that belong together", "", "rcp", "off", "choice"),
            choices=choices,
            helps=helps,
        ),
        Handle("rcp.profile", profile, PROFILE, _of_profile()),
    )
    for name, what, default, words, against in _WORDS:
        yield (
            Knob(f"rcp.{name}", what, "", "rcp", default, "choice", choices=words, helps=against),
            _handle(f"rcp.{name}", f"{_RCP}/{name.replace('.', '/')}"),
        )
    for name, what, unit, value, low, high, others in _DIRTY_NUMBERS:
        yield (
            Knob(
                *(f"rcp.dirty.{name}", what, unit, "rcp", value, "log", low, high, others),
                needs={"rcp.dirty.enable": (1,)},
                helps=_DIRTY,
            ),
            _handle(f"rcp.dirty.{name}", f"{_RCP}/dirty/{name}"),
        )


def _of_profile() -> tuple[str, ...]:
    """Return globs of the knobs that a profile sets, on this disk and any other."""
    names = (*(row[0] for row in _IOSCHED_NUMBERS), *(row[0] for row in _IOSCHED_WORDS))
    own = (*names, "split_kb", "strict", "bypass")
    switches = ("rcp.enable", "rcp.dirty.enable")
    return (*switches, *(f"iosched.{name}" for name in own), "*:iosched.*")


def _handle(name: str, place: str) -> Handle:
    return Handle(name, FileCell(place), resets=("rcp.profile",))


def iosched_knobs(tree: Tree, disk: str) -> Iterator[Found]:
    """Yield the knobs of the scheduler rcp, if the disk can have it."""
    queue = f"/sys/block/{disk}/queue"
    if "rcp" not in ChosenCell(f"{queue}/scheduler").offered(tree):
        return
    needs: dict[str, tuple[Value, ...]] = {"disk.scheduler": ("rcp",)}
    for name, what, unit, value, low, high, others, helps in _IOSCHED_NUMBERS:
        yield (
            Knob(
                *(f"iosched.{name}", f"rcp: {what}", unit, "rcp", value, "log", low, high, others),
                needs=needs,
                helps=helps,
            ),
            _handle(f"iosched.{name}", f"{queue}/iosched/{name}"),
        )
    most_kb = min(512, int(tree.read(f"{queue}/max_sectors_kb")))
    what = "rcp: larger non-critical I/O is cut; 0: never"
    yield (
        Knob(
            *("iosched.split_kb", what, "KiB", "rcp", min(128, most_kb), "log", 4, most_kb, (0,)),
            needs=needs,
            at_most="disk.max_sectors_kb",
            helps=("device",),
        ),
        _handle("iosched.split_kb", f"{queue}/iosched/split_kb"),
    )
    for name, what, word, words in _IOSCHED_WORDS:
        yield (
            Knob(
                *(f"iosched.{name}", f"rcp: {what}", "", "rcp", word, "choice"),
                choices=words,
                needs=needs,
                helps=_QUEUE,
            ),
            _handle(f"iosched.{name}", f"{queue}/iosched/{name}"),
        )
