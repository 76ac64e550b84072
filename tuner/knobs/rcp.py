"""Knobs of the patched kernel: /sys/kernel/rcp, and those of a disk under the scheduler rcp."""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.knobs.cell import ChosenCell, FileCell, ProfileCell
from rcp.tuner.knobs.handle import PROFILE, Handle
from rcp.tuner.knobs.inherit import INHERIT_CHOICES, KERNEL_PROFILES, MAX_DEPTH
from rcp.tuner.knobs.kinds import ADMISSION_WAITS, ALL_WAITS, DIRTY_WAITS, FLUSHED_DEVICE_WAITS
from rcp.tuner.knobs.knob import Knob, Value
from rcp.tuner.knobs.rows import ChoiceRow, Needs, NumberRow
from rcp.tuner.knobs.stock import KnobHandle
from rcp.tuner.knobs.tree import Tree

_RCP = "/sys/kernel/rcp"
_SWITCH: tuple[Value, ...] = (0, 1)

_GLOBAL_CHOICES = (
    ChoiceRow(
        "enable", "whether anything of rcp is on", default=0, choices=_SWITCH, helps=ALL_WAITS
    ),
    ChoiceRow(
        "classify.rt_is_critical",
        "I/O class RT is critical",
        default=1,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.default",
        "what nobody marked is",
        default="noncritical",
        choices=("noncritical", "critical"),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.fork_reset",
        "children begin without a mark",
        default=1,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.async_write_critical",
        "writeback of the critical is too",
        default=0,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.readahead_critical",
        "readahead of the critical is too",
        default=1,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.meta_sync",
        "what synchronous metadata of others is",
        default="ordered",
        choices=("noncritical", "ordered", "critical"),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "classify.inherited_async",
        "writeback by those who are waited for is critical",
        default=0,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    *INHERIT_CHOICES,
    ChoiceRow(
        "dirty.enable",
        "non-critical writers have a dirty limit",
        default=0,
        choices=_SWITCH,
        helps=DIRTY_WAITS,
    ),
)
_DIRTY_NUMBERS = (
    NumberRow(
        "noncrit_permille", "share of memory they may dirty", "‰", default=10, low=1, high=500
    ),
    NumberRow(
        "noncrit_kb",
        "the same in KiB; 0: the share says",
        "KiB",
        default=0,
        low=1024,
        high=1 << 24,
        others=(0,),
    ),
    NumberRow(
        "noncrit_bg_percent",
        "share of the limit where writeback starts",
        "%",
        default=50,
        low=5,
        high=95,
    ),
    NumberRow("max_pause_ms", "longest pause of a writer", "ms", default=20, low=1, high=200),
    NumberRow(
        "max_wait_ms", "longest wait of a write, in pauses", "ms", default=1000, low=10, high=60_000
    ),
)
_IOSCHED_NUMBERS = (
    NumberRow(
        "tokens",
        "non-critical requests at the device; 0: any number",
        "requests",
        default=2,  # of a flash disk with a short queue
        low=1,
        high=256,
        others=(0,),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "token_kb",
        "smaller requests share a token; 0: one each",
        "KiB",
        default=32,
        low=4,
        high=1024,
        others=(0,),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "hold_ms",
        "tokens apply so long after critical I/O",
        "ms",
        default=1000,
        low=1,
        high=60_000,
        others=(0,),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "starve_ms",
        "longest time without a non-critical dispatch",
        "ms",
        default=10,
        low=1,
        high=1000,
        others=(0,),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "starve_batch",
        "non-critical requests that then go",
        "requests",
        default=1,
        low=1,
        high=64,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "sort_max_ms",
        "longest that sorting delays a request",
        "ms",
        default=10,
        low=1,
        high=60_000,
        others=(0,),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    NumberRow(
        "unflushed_kb",
        "others' writes in the disk's cache; 0: any number",
        "KiB",
        default=0,
        low=128,
        high=65_536,
        others=(0,),
        helps=("flush",),
    ),
    NumberRow(
        "slots_critical",
        "critical requests allocated; 0: any number",
        "requests",
        default=128,
        low=8,
        high=1024,
        others=(0,),
        helps=ADMISSION_WAITS,
    ),
    NumberRow(
        "slots_noncritical",
        "other requests allocated; 0: any number",
        "requests",
        default=128,
        low=8,
        high=1024,
        others=(0,),
        helps=ADMISSION_WAITS,
    ),
)
_IOSCHED_CHOICES = (
    ChoiceRow(
        "token_mode",
        "whether critical requests use up tokens",
        default="noncrit",
        choices=("noncrit", "total"),
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "starve_over_tokens",
        "the starving need no token",
        default=0,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "sort_noncritical",
        "others go by sector",
        default=1,
        choices=_SWITCH,
        helps=FLUSHED_DEVICE_WAITS,
    ),
    ChoiceRow(
        "device_prio",
        "1: tell the device who is critical; 2: and who is not",
        default=0,
        choices=(0, 1, 2),
        helps=FLUSHED_DEVICE_WAITS,
    ),
)


def available(tree: Tree) -> bool:
    """Whether the kernel has the patch."""
    return tree.exists(f"{_RCP}/profile")


def rcp_knobs(tree: Tree) -> Iterator[KnobHandle]:
    """Yield the knobs below /sys/kernel/rcp."""
    profile = Knob(
        name="rcp.profile",
        what="settings of rcp that belong together",
        unit="",
        backend="rcp",
        default="off",
        scale="choice",
        choices=KERNEL_PROFILES,
        helps=ALL_WAITS,
    )
    cell = ProfileCell(f"{_RCP}/profile", f"{_RCP}/enable")
    yield profile, Handle(profile.name, cell, rank=PROFILE, resets=_set_by_profile())
    for choice in _GLOBAL_CHOICES:
        knob = choice.knob("rcp.", backend="rcp")
        yield knob, _handle(knob, f"{_RCP}/{choice.name.replace('.', '/')}")
    for number in _DIRTY_NUMBERS:
        knob = number.knob(
            "rcp.dirty.", backend="rcp", needs={"rcp.dirty.enable": (1,)}, helps=DIRTY_WAITS
        )
        yield knob, _handle(knob, f"{_RCP}/dirty/{number.name}")
    depth = MAX_DEPTH.knob(
        "rcp.inherit.", backend="rcp", needs={"rcp.inherit.transitive": (1,)}, helps=ALL_WAITS
    )
    yield depth, _handle(depth, f"{_RCP}/inherit/max_depth")


def _set_by_profile() -> tuple[str, ...]:
    """Return globs of the knobs that a profile sets, on this disk and any other."""
    names = [row.name for row in (*_IOSCHED_NUMBERS, *_IOSCHED_CHOICES)]
    names += ["split_kb", "strict", "bypass"]
    switches = ("rcp.enable", "rcp.classify.*", "rcp.dirty.*", "rcp.inherit.*", "rcp.sched.*")
    return (*switches, *(f"iosched.{name}" for name in names), "*:iosched.*")


def _handle(knob: Knob, place: str) -> Handle:
    return Handle(knob.name, FileCell(place), resets=("rcp.profile",))


def iosched_knobs(tree: Tree, disk: str) -> Iterator[KnobHandle]:
    """Yield the knobs of the scheduler rcp, if the disk can have it."""
    queue = f"/sys/block/{disk}/queue"
    if "rcp" not in ChosenCell(f"{queue}/scheduler").offered(tree):
        return
    needs: Needs = {"disk.scheduler": ("rcp",)}
    for number in _IOSCHED_NUMBERS:
        knob = number.knob("iosched.", backend="rcp", label="rcp: ", needs=needs)
        yield knob, _handle(knob, f"{queue}/iosched/{number.name}")
    split = _split(tree, queue).knob(
        "iosched.", backend="rcp", label="rcp: ", needs=needs, at_most="disk.max_sectors_kb"
    )
    yield split, _handle(split, f"{queue}/iosched/split_kb")
    for choice in _IOSCHED_CHOICES:
        knob = choice.knob("iosched.", backend="rcp", label="rcp: ", needs=needs)
        yield knob, _handle(knob, f"{queue}/iosched/{choice.name}")


def _split(tree: Tree, queue: str) -> NumberRow:
    most_kib = min(512, int(tree.read(f"{queue}/max_sectors_kb")))
    return NumberRow(
        "split_kb",
        "larger non-critical I/O is cut; 0: never",
        "KiB",
        default=min(128, most_kib),
        low=4,
        high=most_kib,
        others=(0,),
        helps=("device",),
    )
