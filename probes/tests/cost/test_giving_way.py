import ctypes
import errno
import os
import platform
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rcp.probes.cost.giving_way import GivingWay, _Attributes, _choose_slice
from rcp.probes.kernel.features import Features
from rcp.probes.plan import Plan
from rcp.probes.program import Options
from rcp.probes.record import record_from
from rcp.probes.signals import Signals
from rcp.probes.upkeep import Upkeep

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource


def policy() -> int:
    return os.sched_getscheduler(0)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    if os.geteuid() and limit < 20 - os.getpriority(os.PRIO_PROCESS, 0):
        pytest.skip("a thread may not leave SCHED_IDLE here: run as root, or with LimitNICE")
    yield
    assert policy() == os.SCHED_OTHER
    _choose_slice(0)


def slice_ns() -> int:
    """Return the slice of this thread as the kernel tells it: since 6.12."""
    found = _Attributes(size=ctypes.sizeof(_Attributes))
    number = {"x86_64": 315, "aarch64": 275}[platform.machine()]  # sched_getattr
    done = ctypes.CDLL(None).syscall(number, 0, ctypes.byref(found), found.size, 0)
    assert done == 0
    return int(found.runtime_ns)


def test_it_gives_way_inside_only() -> None:
    way = GivingWay(lambda: 0.1, 0.125)
    assert policy() == os.SCHED_OTHER
    with way.unless(False):
        assert policy() == os.SCHED_IDLE
        way.look()
        assert policy() == os.SCHED_IDLE
    assert policy() == os.SCHED_OTHER


def test_its_turns_are_short_in_both_policies() -> None:
    if not slice_ns():
        pytest.skip("before Linux 6.12 a task's slice can not be chosen")
    way = GivingWay(lambda: 0.1, 0.125)
    assert slice_ns() == 100_000
    with way.unless(False):
        assert slice_ns() == 100_000
    assert slice_ns() == 100_000


def test_a_ring_that_is_filling_up_is_drained_at_normal_priority() -> None:
    with GivingWay(lambda: 0.2, 0.125).unless(True):
        assert policy() == os.SCHED_OTHER


class Clock:
    """A clock that stands still but for what a test adds."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now_s = self.used_s = 0.0
        patch.setattr("rcp.probes.cost.giving_way.time.monotonic", lambda: self.now_s)
        patch.setattr("rcp.probes.cost.giving_way.time.thread_time", lambda: self.used_s)


def test_a_ring_that_fills_up_meanwhile_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    fill, clock = [0.0], Clock(monkeypatch)
    way = GivingWay(lambda: fill[0], 0.125)
    with way.unless(False):
        fill[0] = 0.5
        way.look()  # it has looked just before
        assert policy() == os.SCHED_IDLE
        clock.now_s = 0.05
        way.look()
        assert policy() == os.SCHED_OTHER
    fill[0] = 0.0
    with way.unless(False):
        assert policy() == os.SCHED_IDLE


@pytest.mark.parametrize(
    ("took_s", "used_s", "next_is"),
    [(2.0, 0.01, os.SCHED_OTHER), (2.0, 1.0, os.SCHED_IDLE), (0.09, 0.0, os.SCHED_IDLE)],
    ids=["starved", "a long drain", "a short wait"],
)
def test_after_it_was_starved_it_takes_turns_for_some_seconds(
    monkeypatch: pytest.MonkeyPatch, took_s: float, used_s: float, next_is: int
) -> None:
    clock = Clock(monkeypatch)
    clock.now_s = 1000.0
    way = GivingWay(lambda: 0.0, 0.125)
    with way.unless(False):
        clock.now_s += took_s
        clock.used_s += used_s
    with way.unless(False):
        assert policy() == next_is
    clock.now_s += 5.0
    with way.unless(False):
        assert policy() == os.SCHED_IDLE


@pytest.mark.parametrize(
    ("fill", "turns_s", "sleeps_s"),
    [
        (0.2, (0.0003,), (0.0036,)),
        (0.2, (0.00006, 0.00006), (0.00144,)),  # the second step ends the turn
        (0.2, (0.0003, 0.00009, 0.005), (0.0036, 0.005)),
        (0.4, (0.0003,), (0.0009,)),
        (0.6, (0.0003,), ()),
        (1.0, (0.0003,), ()),
    ],
    ids=["a turn", "short steps", "long steps", "filling", "nearly full", "full"],
)
def test_after_each_turn_it_sleeps(
    monkeypatch: pytest.MonkeyPatch,
    fill: float,
    turns_s: tuple[float, ...],
    sleeps_s: tuple[float, ...],
) -> None:
    """Who is woken within its slice would wait for the next tick otherwise."""
    clock = Clock(monkeypatch)
    slept: list[float] = []
    monkeypatch.setattr("rcp.probes.cost.giving_way.time.sleep", slept.append)
    way = GivingWay(lambda: fill, 0.125)
    way.look()
    with way.unless(True):
        clock.now_s += 0.05  # so that it looks at the rings
        for turn_s in turns_s:
            clock.used_s += turn_s
            way.look()
    clock.used_s += 1.0
    way.look()  # not within a drain
    assert slept == pytest.approx(sleeps_s)
    with way.unless(False):
        clock.used_s += 1.0
        way.look()  # it gives way as it is
    assert len(slept) == len(sleeps_s)


def test_its_own_pauses_do_not_starve_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)

    def sleep(seconds: float) -> None:
        clock.now_s += seconds + 0.002  # it gets its CPU a little later

    monkeypatch.setattr("rcp.probes.cost.giving_way.time.sleep", sleep)
    way = GivingWay(lambda: 0.2, 0.125)
    with way.unless(True):
        for _ in range(200):
            clock.used_s += 0.00015
            clock.now_s += 0.00015
            way.look()
    with way.unless(False):
        assert policy() == os.SCHED_IDLE


def test_a_ring_that_is_nearly_full_is_drained_without_pauses_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock, slept = Clock(monkeypatch), list[float]()
    monkeypatch.setattr("rcp.probes.cost.giving_way.time.sleep", slept.append)
    way = GivingWay(lambda: 0.9, 0.125)
    with way.unless(True):
        clock.used_s += 0.001
        way.look()
    assert not slept


def test_rights_that_are_lost_meanwhile_end_no_recording(monkeypatch: pytest.MonkeyPatch) -> None:
    way = GivingWay(lambda: 0.0, 0.125)

    def forbidden(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("rcp.probes.cost.giving_way.os.sched_setscheduler", forbidden)
    with way.unless(False):
        assert policy() == os.SCHED_OTHER


def policy_inside(*before: str) -> int:
    """Return the policy inside of a program that does something first."""
    program = (
        "import os, resource",
        "from rcp.probes.cost.giving_way import GivingWay",
        *before,
        "with GivingWay(lambda: 0.0, 0.125).unless(False):",
        "    print(os.sched_getscheduler(0))",
    )
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(program)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_a_policy_that_somebody_chose_stays() -> None:
    chosen = "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))"
    assert policy_inside(chosen) == os.SCHED_BATCH


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give its rights up")
def test_without_the_right_to_come_back_it_does_not_go() -> None:
    without = ("resource.setrlimit(resource.RLIMIT_NICE, (0, 0))", "os.setuid(65534)")
    assert policy_inside(*without) == os.SCHED_OTHER


def test_what_comes_is_looked_for_while_it_gives_way(
    source: "ArraySource", features: Features, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a machine with a hundred disks that takes milliseconds."""
    policies: list[int] = []
    monkeypatch.setattr(Upkeep, "look", lambda _self, _between: policies.append(policy()))
    plan = Plan(tmp_path / "r.spool", Options(), features, [], duration_s=0.05)
    signals = Signals()
    with signals.caught():
        record_from(source, plan, lambda _text: None, signals)
    assert set(policies) == {os.SCHED_IDLE}
