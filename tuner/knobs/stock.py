"""Knobs that any kernel has: of the page cache, and of a disk's queue and its schedulers.

Ranges are what a search may try: wide enough for disks of ten milliseconds and of ten
microseconds, and nothing that makes the machine unusable meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.cell import ChosenCell, FileCell, PairCell, RoundedCell, WbtCell
from rcp.tuner.knobs.handle import LIMIT, SCHEDULER, Handle
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.knobs.tree import Tree

Found = tuple[Knob, Handle]

_MIB = 1 << 20
_VM = "/proc/sys/vm"
_DIRTY = ("dirty_throttle", "io_dependency", "condition", "queue", "device")
_QUEUE = ("queue", "device", "flush")


def knob(
    name: str, what: str, unit: str, default: int, low: int, high: int, **more: object
) -> Knob:
    """Return a knob of numbers; *more* as in ``Knob``, ``scale`` being log if not said."""
    given: dict[str, object] = {"backend": "stock", "scale": "log", **more}
    return Knob(name, what, unit, default=default, low=low, high=high, **given)  # type: ignore[arg-type]


def _memory_bytes(tree: Tree) -> int:
    for line in tree.read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise KnobError("/proc/meminfo: it tells no MemTotal: is /proc mounted?")


def _pair(tree: Tree, name: str, ratio: int) -> PairCell:
    places = f"{_VM}/{name}_bytes", f"{_VM}/{name}_ratio"
    active = tree.read(places[0]) == "0"
    return PairCell(*places, tree.read(places[1]) if active else str(ratio))


def vm_knobs(tree: Tree) -> Iterator[Found]:
    """Yield the knobs of the page cache."""
    if not tree.writable(f"{_VM}/dirty_bytes"):
        return
    memory_bytes = _memory_bytes(tree)
    pairs = (
        ("dirty", 20, "dirty memory at which writers have to wait"),
        ("dirty_background", 10, "dirty memory at which writeback starts"),
    )
    for name, ratio, what in pairs:
        yield (
            knob(
                *(f"vm.{name}_bytes", f"{what}; 0: {name}_ratio says", "bytes"),
                *(0, _MIB, memory_bytes // 2),
                choices=(0,),
                safe_low=4 * _MIB,
                safe_high=memory_bytes * 2 // 5,
                # Beyond it the kernel takes half of it (mm/page-writeback.c, domain_dirty_limits).
                at_most="vm.dirty_bytes" if name == "dirty_background" else "",
                helps=_DIRTY,
            ),
            Handle(f"vm.{name}_bytes", _pair(tree, name, ratio)),
        )
    times = (
        ("dirty_expire_centisecs", "age at which dirty data must be written", 3000, 100, 6000),
        ("dirty_writeback_centisecs", "time between writeback's rounds", 500, 10, 3000),
    )
    for name, what, default, low, high in times:
        yield (
            knob(f"vm.{name}", what, "cs", default, low, high, helps=_DIRTY),
            Handle(f"vm.{name}", FileCell(f"{_VM}/{name}")),
        )


def disk_knobs(tree: Tree, disk: str) -> Iterator[Found]:
    """Yield the knobs of a disk's queue and its share of the page cache."""
    queue = f"/sys/block/{disk}/queue"
    chosen = ChosenCell(f"{queue}/scheduler")
    offered = chosen.offered(tree)
    if len(offered) > 1:
        yield (
            Knob(
                *("disk.scheduler", "who decides which request goes next", "", "stock"),
                *(chosen.state(tree), "choice"),
                choices=offered,
                helps=(*_QUEUE, "admission_tag", "admission_slot"),
            ),
            Handle(
                *("disk.scheduler", chosen, SCHEDULER),
                ("iosched.*", "disk.nr_requests"),
                stirs=("disk.wbt_lat_usec",),
            ),
        )
    yield from _queue_knobs(tree, queue, tuple(word for word in offered if word != "none"))
    bdi = f"/sys/class/bdi/{tree.read(f'/sys/block/{disk}/dev')}"
    shares = (("min_ratio", "least", 0, 0, 50), ("max_ratio", "largest", 100, 1, 100))
    for name, what, default, low, high in shares:
        if tree.writable(f"{bdi}/{name}"):
            told = f"the disk's {what} share of the dirty memory"
            yield (
                knob(
                    *(f"disk.bdi_{name}", told, "%", default, low, high),
                    scale="linear",
                    # mm/page-writeback.c:__bdi_set_min_ratio() refuses more than the largest
                    at_most="disk.bdi_max_ratio" if name == "min_ratio" else "",
                    helps=_DIRTY,
                ),
                Handle(f"disk.bdi_{name}", FileCell(f"{bdi}/{name}")),
            )


def _queue_knobs(tree: Tree, queue: str, schedulers: tuple[str, ...]) -> Iterator[Found]:
    wbt = WbtCell(f"{queue}/wbt_lat_usec")
    try:
        # A queue without writeback throttling refuses to be read.
        default_us = int(wbt.state(tree))
    except KnobError:
        default_us = -1
    if default_us >= 0:
        what = "read latency above which writeback is throttled; 0: never"
        yield (
            knob(
                *("disk.wbt_lat_usec", what, "µs", default_us, 100, 200_000),
                choices=(0,),
                helps=(*_QUEUE, "admission_slot"),
            ),
            Handle("disk.wbt_lat_usec", wbt),
        )
    if schedulers:
        yield (
            knob(
                *("disk.nr_requests", "requests the scheduler may hold", "requests", 256, 4, 1024),
                safe_low=16,
                needs={"disk.scheduler": schedulers},
                helps=("admission_tag", "queue"),
            ),
            Handle(
                "disk.nr_requests",
                FileCell(f"{queue}/nr_requests"),
                LIMIT,
                ("iosched.async_depth",),
            ),
        )
    if tree.writable(f"{queue}/max_sectors_kb"):
        most = int(tree.read(f"{queue}/max_hw_sectors_kb"))
        now = int(tree.read(f"{queue}/max_sectors_kb"))
        yield (
            knob(
                *("disk.max_sectors_kb", "size at which I/O is cut", "KiB", now, min(16, most)),
                min(most, 4096),
                helps=("device", "queue"),
            ),
            Handle("disk.max_sectors_kb", RoundedCell(f"{queue}/max_sectors_kb"), LIMIT),
        )


_MS, _NS = "ms", "ns"
# scheduler, knob, what it is, unit, default, low, high, whether times are rounded to jiffies
_SCHEDULERS = (
    ("mq-deadline", "read_expire", "age at which a read goes first", _MS, 500, 1, 5000),
    ("mq-deadline", "write_expire", "age at which a write goes first", _MS, 5000, 10, 60_000),
    ("mq-deadline", "fifo_batch", "requests taken in a row", "requests", 16, 1, 64),
    ("mq-deadline", "writes_starved", "batches of reads before a write", "batches", 2, 1, 16),
    (
        *("mq-deadline", "prio_aging_expire"),
        *("age at which a lower I/O class goes before a higher", _MS, 10_000, 10, 30_000),
    ),
    ("bfq", "slice_idle", "idling for the next request of a task", _MS, 8, 0, 20),
    ("bfq", "timeout_sync", "longest turn of a task", _MS, 124, 10, 500),
    ("bfq", "fifo_expire_sync", "age at which synchronous I/O goes first", _MS, 125, 5, 1000),
    ("bfq", "fifo_expire_async", "age at which other I/O goes first", _MS, 250, 5, 5000),
    ("kyber", "read_lat_nsec", "target latency of reads", _NS, 2_000_000, 100_000, 10**8),
    ("kyber", "write_lat_nsec", "target of synchronous writes", _NS, 10_000_000, 10**6, 10**9),
)


def scheduler_knobs(tree: Tree, disk: str) -> Iterator[Found]:
    """Yield the knobs of the schedulers that the disk can have."""
    offered = ChosenCell(f"/sys/block/{disk}/queue/scheduler").offered(tree)
    folder = f"/sys/block/{disk}/queue/iosched"
    for scheduler, name, what, unit, default, low, high in _SCHEDULERS:
        if scheduler in offered:
            yield (
                knob(
                    *(f"iosched.{name}", f"{scheduler}: {what}", unit, default, low, high),
                    scale="log" if low else "linear",
                    needs={"disk.scheduler": (scheduler,)},
                    helps=_QUEUE,
                ),
                Handle(f"iosched.{name}", RoundedCell(f"{folder}/{name}")),
            )
    if "bfq" in offered:
        yield (
            Knob(
                *("iosched.low_latency", "bfq: favour what looks interactive", "", "stock"),
                *(1, "choice"),
                choices=(0, 1),
                needs={"disk.scheduler": ("bfq",)},
                helps=_QUEUE,
            ),
            Handle("iosched.low_latency", FileCell(f"{folder}/low_latency")),
        )
