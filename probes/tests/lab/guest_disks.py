"""Part of guest_waits.py: what disks do, seen by ftrace and by a clock."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rcp.fixtures.scenarios.planted.cgroups import Group
from rcp.fixtures.scenarios.planted.computing import Rounds, wide_disk, write_again
from rcp.fixtures.scenarios.planted.disks import Disk
from rcp.fixtures.scenarios.planted.stage import Stage

if TYPE_CHECKING:
    from rcp.probes.tests.lab.guest_tasks import direct, end, task
else:
    from guest_tasks import direct, end, task

N_HELD = 23
"""Ios under io.max: a prime number, so that no other count is taken for it."""
N_PER_S = 50
"""The limit of writes."""

N_SYNCS = 7
SPIN_NS, GAP_NS = 5_000_000, 5_000
"""How long to look at the clock, and a jump of it; a look takes about 1 us."""


def device_of(disk: Disk) -> int:
    """Return the number of a disk in the kernel's own form."""
    major, minor = map(int, disk.number.split(":"))
    return major << 20 | minor


@contextmanager
def queued_on(disk: Disk) -> Iterator[Callable[[], str]]:
    """Let ftrace see when bios reach the queue of a disk; give what it has seen so far."""
    tracing = Path("/sys/kernel/tracing/instances/queued")
    tracing.mkdir()
    queued = tracing / "events/block/block_bio_queue"
    (tracing / "trace_clock").write_text("mono")
    (queued / "filter").write_text(f"dev == {device_of(disk)}")
    (queued / "enable").write_text("1")
    try:
        yield (tracing / "trace").read_text
    finally:
        tracing.rmdir()


def held_back(stage: Stage, group: Group) -> dict[str, Any]:
    """Seven writes under io.max, and as many without; ftrace sees when bios reach the queue."""
    disk = stage.disk(depth=64)
    group.limit(disk, f"wiops={N_PER_S}")
    with queued_on(disk) as witness:
        end(task("held-back", group.inside(lambda: direct(disk, N_HELD, write=True))))
        end(task("let-through", lambda: direct(disk, N_HELD, write=True)))
        limit = {"cgroup": group.id, "write_ios": N_PER_S}
        return {"dev": device_of(disk), "n_ios": N_HELD, "witness": witness()} | limit


def flushed(stage: Stage) -> dict[str, Any]:
    """Sync a file on a disk without FUA, which gets a flush before each record of the journal."""
    disk = stage.disk(service_us=1000, depth=64, more={"cache_size": 64, "fua": 0})
    folder = stage.mount(disk)
    with queued_on(disk) as witness:
        file = os.open(folder / "synced", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        for _ in range(N_SYNCS):
            os.write(file, b"." * 4096)
            os.fsync(file)
        os.close(file)
        return {"dev": device_of(disk), "witness": witness()}


def interrupted(stage: Stage) -> dict[str, Any]:
    """Look at the clock all the time while a disk ends others' writes; note when it jumps."""
    rounds, gaps, spans = Rounds(), [], []

    def look() -> None:
        last = begin = time.monotonic_ns()
        while last - begin < SPIN_NS:
            now = time.monotonic_ns()
            if now - last > GAP_NS:
                gaps.append((last, now))
            last = now
        spans.append((begin, last))

    write = write_again(stage.mount(wide_disk(stage)) / "file")
    sender = task("sends", rounds.send(write))
    rounds.compute(look)()
    end(sender)
    return {"tid": os.getpid(), "spans": spans, "gaps": gaps}
