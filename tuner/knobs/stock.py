"""Knobs that any kernel has: of the page cache, and of a disk's queue and its schedulers.

A range is what a search may try. It is wide enough for disks with 10 ms and with 10 µs latency,
and holds no value that makes the machine unusable during a trial.
"""

from __future__ import annotations

from collections.abc import Iterator

from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.cell import ChosenCell, FileCell, PairCell, RoundedCell, WbtCell
from rcp.tuner.knobs.handle import LIMIT, SCHEDULER, Handle
from rcp.tuner.knobs.kinds import FLUSHED_DEVICE_WAITS, WRITEBACK_WAITS
from rcp.tuner.knobs.knob import Knob
from rcp.tuner.knobs.rows import ChoiceRow, NumberRow
from rcp.tuner.knobs.tree import Tree

KnobHandle = tuple[Knob, Handle]

_MIB = 1 << 20
_VM = "/proc/sys/vm"

_VM_TIMES = (
    NumberRow(
        "dirty_expire_centisecs",
        "age at which dirty data must be written",
        "cs",
        default=3000,
        low=100,
        high=6000,
    ),
    NumberRow(
        "dirty_writeback_centisecs",
        "time between writeback's rounds",
        "cs",
        default=500,
        low=10,
        high=3000,
    ),
)
_BDI_SHARES = (
    NumberRow(
        "min_ratio", "the disk's least share of the dirty memory", "%", default=0, low=0, high=50
    ),
    NumberRow(
        "max_ratio",
        "the disk's largest share of the dirty memory",
        "%",
        default=100,
        low=1,
        high=100,
    ),
)
# In the units of the files; the kernel rounds times to jiffies.
_MQ_DEADLINE = (
    NumberRow("read_expire", "age at which a read goes first", "ms", default=500, low=1, high=5000),
    NumberRow(
        "write_expire", "age at which a write goes first", "ms", default=5000, low=10, high=60_000
    ),
    NumberRow("fifo_batch", "requests taken in a row", "requests", default=16, low=1, high=64),
    NumberRow(
        "writes_starved", "batches of reads before a write", "batches", default=2, low=1, high=16
    ),
    NumberRow(
        "prio_aging_expire",
        "age at which a lower I/O class goes before a higher",
        "ms",
        default=10_000,
        low=10,
        high=30_000,
    ),
)
_BFQ = (
    NumberRow(
        "slice_idle", "idling for the next request of a task", "ms", default=8, low=0, high=20
    ),
    NumberRow("timeout_sync", "longest turn of a task", "ms", default=124, low=10, high=500),
    NumberRow(
        "fifo_expire_sync",
        "age at which synchronous I/O goes first",
        "ms",
        default=125,
        low=5,
        high=1000,
    ),
    NumberRow(
        "fifo_expire_async",
        "age at which other I/O goes first",
        "ms",
        default=250,
        low=5,
        high=5000,
    ),
)
_KYBER = (
    NumberRow(
        "read_lat_nsec",
        "target latency of reads",
        "ns",
        default=2_000_000,
        low=100_000,
        high=100_000_000,
    ),
    NumberRow(
        "write_lat_nsec",
        "target of synchronous writes",
        "ns",
        default=10_000_000,
        low=1_000_000,
        high=1_000_000_000,
    ),
)
_SCHEDULERS = {"mq-deadline": _MQ_DEADLINE, "bfq": _BFQ, "kyber": _KYBER}
_BFQ_LOW_LATENCY = ChoiceRow(
    "low_latency",
    "favour what looks interactive",
    default=1,
    choices=(0, 1),
    helps=FLUSHED_DEVICE_WAITS,
)


def vm_knobs(tree: Tree) -> Iterator[KnobHandle]:
    """Yield the knobs of the page cache."""
    if not tree.writable(f"{_VM}/dirty_bytes"):
        return
    memory_bytes = _memory_bytes(tree)
    yield _dirty_limit(
        tree, "dirty", 20, "dirty memory at which writers have to wait", memory_bytes
    )
    yield _dirty_limit(
        tree, "dirty_background", 10, "dirty memory at which writeback starts", memory_bytes
    )
    for row in _VM_TIMES:
        knob = row.knob("vm.", backend="stock", helps=WRITEBACK_WAITS)
        yield knob, Handle(knob.name, FileCell(f"{_VM}/{row.name}"))


def _memory_bytes(tree: Tree) -> int:
    for line in tree.read("/proc/meminfo").splitlines():
        if line.startswith("MemTotal:"):
            return int(line.split()[1]) * 1024
    raise KnobError("/proc/meminfo: it has no MemTotal: is /proc mounted?")


def _dirty_limit(tree: Tree, name: str, ratio_pct: int, what: str, memory_bytes: int) -> KnobHandle:
    """Return the knob of a pair of files; *ratio_pct* is the kernel's own default."""
    knob = Knob(
        name=f"vm.{name}_bytes",
        what=f"{what}; 0: {name}_ratio says",
        unit="bytes",
        backend="stock",
        default=0,
        scale="log",
        low=_MIB,
        high=memory_bytes // 2,
        choices=(0,),
        safe_low=4 * _MIB,
        safe_high=memory_bytes * 2 // 5,
        # Beyond it the kernel takes half of it (mm/page-writeback.c, domain_dirty_limits).
        at_most="vm.dirty_bytes" if name == "dirty_background" else "",
        helps=WRITEBACK_WAITS,
    )
    bytes_place, ratio_place = f"{_VM}/{name}_bytes", f"{_VM}/{name}_ratio"
    ratio = tree.read(ratio_place) if tree.read(bytes_place) == "0" else str(ratio_pct)
    return knob, Handle(knob.name, PairCell(bytes_place, ratio_place, ratio))


def disk_knobs(tree: Tree, disk: str) -> Iterator[KnobHandle]:
    """Yield the knobs of a disk's queue and its share of the page cache."""
    queue = f"/sys/block/{disk}/queue"
    offered = ChosenCell(f"{queue}/scheduler").offered(tree)
    if len(offered) > 1:
        yield _scheduler(tree, queue, offered)
    yield from _throttle_latency(tree, queue)
    if schedulers := tuple(word for word in offered if word != "none"):
        yield _nr_requests(queue, schedulers)
    if tree.writable(f"{queue}/max_sectors_kb"):
        yield _max_sectors(tree, queue)
    bdi = f"/sys/class/bdi/{tree.read(f'/sys/block/{disk}/dev')}"
    for row in _BDI_SHARES:
        if tree.writable(f"{bdi}/{row.name}"):
            # mm/page-writeback.c:__bdi_set_min_ratio() refuses more than the largest
            at_most = "disk.bdi_max_ratio" if row.name == "min_ratio" else ""
            knob = row.knob(
                "disk.bdi_",
                backend="stock",
                scale="linear",
                at_most=at_most,
                helps=WRITEBACK_WAITS,
            )
            yield knob, Handle(knob.name, FileCell(f"{bdi}/{row.name}"))


def _scheduler(tree: Tree, queue: str, offered: tuple[str, ...]) -> KnobHandle:
    cell = ChosenCell(f"{queue}/scheduler")
    knob = Knob(
        name="disk.scheduler",
        what="who decides which request goes next",
        unit="",
        backend="stock",
        default=cell.state(tree),
        scale="choice",
        choices=offered,
        helps=(*FLUSHED_DEVICE_WAITS, "admission_tag", "admission_slot"),
    )
    handle = Handle(
        knob.name,
        cell,
        rank=SCHEDULER,
        resets=("iosched.*", "disk.nr_requests"),
        resets_if_unset=("disk.wbt_lat_usec",),
    )
    return knob, handle


def _throttle_latency(tree: Tree, queue: str) -> Iterator[KnobHandle]:
    cell = WbtCell(f"{queue}/wbt_lat_usec")
    try:
        # A queue without writeback throttling refuses to be read.
        default_us = int(cell.state(tree))
    except KnobError:
        return
    if default_us < 0:
        return
    knob = Knob(
        name="disk.wbt_lat_usec",
        what="read latency above which writeback is throttled; 0: never",
        unit="µs",
        backend="stock",
        default=default_us,
        scale="log",
        low=100,
        high=200_000,
        choices=(0,),
        helps=(*FLUSHED_DEVICE_WAITS, "admission_slot"),
    )
    yield knob, Handle(knob.name, cell)


def _nr_requests(queue: str, schedulers: tuple[str, ...]) -> KnobHandle:
    knob = Knob(
        name="disk.nr_requests",
        what="requests the scheduler may hold",
        unit="requests",
        backend="stock",
        default=256,
        scale="log",
        low=4,
        high=1024,
        safe_low=16,
        needs={"disk.scheduler": schedulers},
        helps=("admission_tag", "queue"),
    )
    cell = FileCell(f"{queue}/nr_requests")
    return knob, Handle(knob.name, cell, rank=LIMIT, resets=("iosched.async_depth",))


def _max_sectors(tree: Tree, queue: str) -> KnobHandle:
    most_kib = int(tree.read(f"{queue}/max_hw_sectors_kb"))
    knob = Knob(
        name="disk.max_sectors_kb",
        what="size at which I/O is cut",
        unit="KiB",
        backend="stock",
        default=int(tree.read(f"{queue}/max_sectors_kb")),
        scale="log",
        low=min(16, most_kib),
        high=min(most_kib, 4096),
        helps=("device", "queue"),
    )
    return knob, Handle(knob.name, RoundedCell(f"{queue}/max_sectors_kb"), rank=LIMIT)


def scheduler_knobs(tree: Tree, disk: str) -> Iterator[KnobHandle]:
    """Yield the knobs of the schedulers that the disk can have."""
    queue = f"/sys/block/{disk}/queue"
    offered = ChosenCell(f"{queue}/scheduler").offered(tree)
    for scheduler, rows in _SCHEDULERS.items():
        for row in rows if scheduler in offered else ():
            knob = row.knob(
                "iosched.",
                backend="stock",
                scale="log" if row.low else "linear",
                label=f"{scheduler}: ",
                needs={"disk.scheduler": (scheduler,)},
                helps=FLUSHED_DEVICE_WAITS,
            )
            yield knob, Handle(knob.name, RoundedCell(f"{queue}/iosched/{row.name}"))
    if "bfq" in offered:
        knob = _BFQ_LOW_LATENCY.knob(
            "iosched.", backend="stock", label="bfq: ", needs={"disk.scheduler": ("bfq",)}
        )
        yield knob, Handle(knob.name, FileCell(f"{queue}/iosched/low_latency"))
