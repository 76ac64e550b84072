"""The tuner killed at every step, on a machine of files: the next one puts everything back."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.fixtures.scenarios.knobs.kill import KillAt, in_child, killed, tune
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session.restore import recover
from rcp.tuner.session.session import KnobSession

PLAIN: list[Settings] = [
    {"disk.scheduler": "mq-deadline", "iosched.read_expire": 50, "vm.dirty_bytes": 64 << 20},
    {"disk.scheduler": "bfq", "iosched.slice_idle": 0, "disk.nr_requests": 64},
    {"vm.dirty_background_bytes": 8 << 20, "disk.wbt_lat_usec": 0, "disk.max_sectors_kb": 128},
]
PATCHED: list[Settings] = [
    {"disk.scheduler": "rcp", "rcp.profile": "ld", "iosched.tokens": 4, "vm.dirty_bytes": 64 << 20},
    {"disk.scheduler": "rcp", "rcp.profile": "rcp", "rcp.dirty.noncrit_permille": 50},
    {"disk.scheduler": "kyber", "iosched.read_lat_nsec": 200_000},
]


def customized(machine: FakeMachine) -> None:
    """Set what an administrator may have, so that the kernel's defaults are not the way back."""
    machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
    machine.store("/sys/block/sda/queue/nr_requests", "96")
    machine.store("/sys/block/sda/queue/iosched/read_expire", "123")
    machine.store("/sys/block/sda/queue/iosched/front_merges", "0")
    machine.store("/proc/sys/vm/dirty_background_bytes", str(32 << 20))
    machine.store("/proc/sys/vm/dirty_ratio", "30")
    if machine.exists("/sys/kernel/rcp/profile"):
        machine.store("/sys/block/sdb/queue/scheduler", "rcp")
        machine.store("/sys/block/sdb/queue/iosched/tokens", "3")
        machine.store("/sys/kernel/rcp/enable", "1")


Case = tuple[FakeMachine, Path, list[Settings]]


def tune_sda(machine: FakeMachine, folder: Path, trials: Sequence[Settings], step: KillAt) -> None:
    tune(catalog(machine, "sda"), folder, trials, step)


@pytest.fixture(params=["stock", "stock-customized", "rcp", "rcp-customized"])
def case(request: pytest.FixtureRequest, in_memory: Path) -> Case:
    patched = request.param.startswith("rcp")
    machine = fake_machine(in_memory / "machine", patched=patched)
    if request.param.endswith("customized"):
        customized(machine)
    return machine, in_memory / "journal", PATCHED if patched else PLAIN


def steps_of(what: Callable[[KillAt], None]) -> int:
    counter = KillAt()
    what(counter)
    return counter.count


@pytest.mark.parametrize("case", ["stock-customized", "rcp-customized"], indirect=True)
def test_killed_at_any_step_everything_is_put_back(case: Case) -> None:
    machine, folder, trials = case
    before = machine.contents()
    steps = steps_of(lambda step: tune_sda(machine, folder, trials, step))
    assert machine.contents() == before
    assert steps > 100
    changed = 0
    for n in range(1, steps + 1):
        status = in_child(partial(tune_sda, machine, folder, trials, KillAt(n)))
        assert killed(status), n
        changed += machine.contents() != before
        done = recover(machine, folder)
        assert machine.contents() == before, n
        assert done is None or (done.failed, done.left) == ({}, {}), n
        assert recover(machine, folder) is None, n
    assert changed > steps / 3


def test_killed_again_while_restoring_the_next_one_finishes(case: Case) -> None:
    machine, folder, trials = case
    before = machine.contents()
    steps = steps_of(lambda step: tune_sda(machine, folder, trials, step))
    n, again = steps * 6 // 10, 0
    while True:
        again += 1
        in_child(partial(tune_sda, machine, folder, trials, KillAt(n)))
        step = KillAt(again)
        killable = FakeMachine(machine.root, step)
        status = in_child(partial(recover, killable, folder, step))
        recover(machine, folder)
        assert machine.contents() == before, again
        if status == 0:
            break
        assert killed(status)
    assert again > 8


def test_the_next_session_puts_back_what_a_killed_one_left(case: Case) -> None:
    machine, folder, trials = case
    before = machine.contents()
    steps = steps_of(lambda step: tune_sda(machine, folder, trials, step))
    in_child(partial(tune_sda, machine, folder, trials, KillAt(steps * 6 // 10)))
    assert machine.contents() != before
    with KnobSession(catalog(machine, "sda"), folder) as session:
        assert session.recovered is not None
        assert session.recovered.restored
        assert machine.contents() == before
        session.apply(trials[0])
        assert machine.contents() != before
    assert machine.contents() == before
