"""An io that io.max holds back waits for those who use up the limit: its own, or one above."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rcp.analyzer.arrays.roles import KERNEL, ROLE_CODE
from rcp.analyzer.arrays.trace import OP_DISCARD, OP_READ, OP_WRITE
from rcp.analyzer.blame.device.io_max import _since_turn
from rcp.analyzer.tests.blame.found import found, trace_of
from rcp.analyzer.tests.blame.stage import US, Stage
from rcp.fixtures.synth import DEVICE
from rcp.probes.contract.events import IoFlag, LimitedResource

ROOT, POD, DATABASE, BACKUP = 1, 20, 21, 22
WRITES, BYTES, READS = (
    LimitedResource.WRITE_IOS,
    LimitedResource.WRITE_BYTES,
    LimitedResource.READ_IOS,
)
Limits = dict[tuple[int, LimitedResource], int]


def blamed(
    limits: Limits,
    *,
    dev: int = DEVICE,
    n_own: int = 0,
    size: int = 4096,
    op: int = OP_WRITE,
    let_in_us: tuple[int, int] = (120, 150),
) -> list[tuple[str, str, int]]:
    """The writer's io is held from 110 to 170 µs; the backup's, in another container, are let in.

    So are ``n_own`` of another client in the writer's container.
    """
    stage = Stage()
    synth = stage.synth
    for one, above in ((ROOT, 0), (POD, ROOT), (DATABASE, POD), (BACKUP, POD)):
        synth.cgroup(one, above, "x")
    for (cgroup, resource), amount in limits.items():
        synth.limit(cgroup, resource, amount, dev=dev)
    held = {"flags": IoFlag.THROTTLED}
    for got in let_in_us:
        end = (got + 5) * US
        of_backup = {"cgroup_id": BACKUP, "size": size, "op": op}
        synth.io(stage.bg, 10 * US, end, got=got * US, **of_backup, **held)
    for got in range(n_own):
        begin = (121 + got) * US
        synth.io(stage.client, 10 * US, begin + US, got=begin, cgroup_id=DATABASE, **held)
    io = synth.io(stage.fg, 110 * US, 180 * US, got=170 * US, cgroup_id=DATABASE, **held)
    synth.sleep(stage.fg, 110 * US, 180 * US, io=io, stack=["io_schedule"])
    return [(row.kind, row.culprit, row.dur // US) for row in found(synth)]


GUILTY = [("admission_slot", "backup", 60)]


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({(POD, WRITES): 200}, GUILTY),
        ({(POD, WRITES): 200, (DATABASE, WRITES): 10_000}, GUILTY),
        ({(POD, WRITES): 200, (BACKUP, WRITES): 200}, GUILTY),
        ({(POD, WRITES): 200, (DATABASE, READS): 1}, GUILTY),
        ({(POD, WRITES): 10_000, (DATABASE, WRITES): 10}, []),
        ({(DATABASE, WRITES): 200, (BACKUP, WRITES): 200}, []),
        ({}, []),
    ],
    ids=[
        "of the pod",
        "nearer to the pod's",
        "the backup's too",
        "not of reads",
        "nearer to its own",
        "each its own",
        "not known",
    ],
)
def test_the_limit_is_the_one_of_which_most_was_used(
    limits: Limits, expected: list[tuple[str, str, int]]
) -> None:
    assert blamed(limits, n_own=1 if (DATABASE, WRITES) in limits else 0) == expected


def test_a_limit_on_another_device_does_not_count() -> None:
    assert blamed({(POD, WRITES): 200}, dev=DEVICE + 1) == []


@pytest.mark.parametrize(("resource", "blamed_us"), [(BYTES, 60), (WRITES, 10)])
def test_a_limit_of_bytes_is_used_up_by_bytes(resource: LimitedResource, blamed_us: int) -> None:
    """Two large writes of the backup beside ten small ones of another client."""
    ((kind, culprit, dur_us),) = blamed({(POD, resource): 200}, n_own=10, size=1 << 20)
    assert (kind, culprit, dur_us) == ("admission_slot", "backup", blamed_us)


def test_what_is_read_does_not_use_up_a_limit_of_writes() -> None:
    assert blamed({(POD, WRITES): 200}, op=OP_READ, n_own=1) == []


def test_a_discard_counts_little_in_a_limit_of_bytes() -> None:
    """Of 1 MiB each, beside ten writes of 4 KiB."""
    assert blamed({(POD, BYTES): 200}, op=OP_DISCARD, size=1 << 20, n_own=10) == []


@pytest.mark.parametrize(("of_pod", "of_backup"), [(100, 60), (200, 150), (60, 30)])
def test_a_limit_that_is_nearly_used_is_not_the_one(of_pod: int, of_backup: int) -> None:
    """Of 20 a second, the writer's own container has used up all; the backup is never held back."""
    stage = Stage()
    synth = stage.synth
    for one, above in ((ROOT, 0), (POD, ROOT), (DATABASE, POD), (BACKUP, POD)):
        synth.cgroup(one, above, "x")
    synth.limit(POD, WRITES, of_pod, dev=DEVICE)
    synth.limit(DATABASE, WRITES, 20, dev=DEVICE)
    second = 1_000_000 * US
    for number in range(of_backup):
        begin = number * second // of_backup
        synth.io(stage.bg, begin, begin + US, cgroup_id=BACKUP)
    synth.request(stage.client, 0, second)
    of_own: dict[str, int] = {"cgroup_id": DATABASE, "flags": IoFlag.THROTTLED}
    for number in range(1, 20):
        got = number * second // 20
        io = synth.io(stage.client, got - second // 20, got + US, got=got, **of_own)
        synth.sleep(stage.client, got - second // 20, got + US, io=io, stack=["io_schedule"])
    assert [row for row in found(synth) if row.kind == "admission_slot"] == []


def test_ios_of_no_known_cgroup_share_no_limit() -> None:
    stage = Stage()
    held = {"flags": IoFlag.THROTTLED}
    stage.synth.io(stage.bg, 10 * US, 125 * US, got=120 * US, **held)
    io = stage.synth.io(stage.fg, 110 * US, 180 * US, got=170 * US, **held)
    stage.synth.sleep(stage.fg, 110 * US, 180 * US, io=io, stack=["io_schedule"])
    assert found(stage.synth) == []


def test_what_was_let_in_shortly_before_has_used_up_the_limit_too() -> None:
    assert blamed({(POD, WRITES): 200}, let_in_us=(30, 60)) == GUILTY


def test_turns_of_other_limits_and_of_kernel_threads_do_not_count() -> None:
    """The writer had a read let in at 108 µs, a kworker the backup's write at 169."""
    since = []
    for submitter, op, got in (("fg", OP_WRITE, 60), ("fg", OP_READ, 108), ("flusher", 1, 169)):
        stage = Stage()
        held = {"cgroup_id": DATABASE, "flags": IoFlag.THROTTLED}
        task = getattr(stage, submitter)
        stage.synth.io(task, 10 * US, 200 * US, got=got * US, op=op, **held)
        by = stage.flusher if submitter == "flusher" else stage.fg
        stage.synth.io(by, 110 * US, 180 * US, got=170 * US, op=OP_WRITE, **held)
        trace = trace_of(stage.synth)
        limit = (trace.ios.op == OP_WRITE).astype("u4")
        ios, io = replace(trace.ios, dev=limit), np.array([1], np.int32)
        is_kernel = trace.tasks.role == ROLE_CODE[KERNEL]
        since += _since_turn(ios, io, ios.got[io], is_kernel).tolist()
    assert since == [110 * US, -1, -1]
