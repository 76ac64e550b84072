"""An io that io.max holds back waits for those who use up the limit: its own, or one above."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
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
    limits: Limits, *, dev: int = DEVICE, n_own: int = 0, size: int = 4096
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
    for got in (120, 150):
        end = (got + 5) * US
        synth.io(stage.bg, 10 * US, end, got=got * US, cgroup_id=BACKUP, size=size, **held)
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
        ({(POD, WRITES): 200, (DATABASE, WRITES): 10_000}, [("admission_slot", "backup", 40)]),
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


@pytest.mark.parametrize(("resource", "blamed_us"), [(BYTES, 58), (WRITES, 10)])
def test_a_limit_of_bytes_is_used_up_by_bytes(resource: LimitedResource, blamed_us: int) -> None:
    """Two large writes of the backup beside ten small ones of another client."""
    ((kind, culprit, dur_us),) = blamed({(POD, resource): 200}, n_own=10, size=1 << 20)
    assert (kind, culprit, dur_us) == ("admission_slot", "backup", blamed_us)
