import os
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rcp.probes.cost.giving_way import GivingWay


def policy() -> int:
    return os.sched_getscheduler(0)


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    if os.geteuid() and limit < 20 - os.getpriority(os.PRIO_PROCESS, 0):
        pytest.skip("a thread may not leave SCHED_IDLE here: run as root, or with LimitNICE")
    yield
    assert policy() == os.SCHED_OTHER


def test_it_gives_way_inside_only() -> None:
    assert policy() == os.SCHED_OTHER
    with GivingWay(lambda: 0.1, 0.125) as way:
        assert policy() == os.SCHED_IDLE
        assert not way.is_busy()
        assert policy() == os.SCHED_IDLE
        with way.interrupted():
            assert policy() == os.SCHED_OTHER
        assert policy() == os.SCHED_IDLE
    assert policy() == os.SCHED_OTHER


def test_a_ring_that_fills_up_is_drained_at_normal_priority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fill, now_s = [0.0], [0.0]
    monkeypatch.setattr("rcp.probes.cost.giving_way.time.monotonic", lambda: now_s[0])
    with GivingWay(lambda: fill[0], 0.125) as way:
        assert not way.is_busy()
        fill[0] = 0.5
        way.look()  # it has looked just before
        assert policy() == os.SCHED_IDLE
        now_s[0] = 1.0
        way.look()
        assert policy() == os.SCHED_OTHER
        assert way.is_busy()
        fill[0] = 0.1
        assert not way.is_busy()
        assert policy() == os.SCHED_IDLE


def test_huge_pages_are_off_inside_only() -> None:
    def told() -> str:
        (found,) = re.findall(
            r"^THP_enabled:\s*(\d)", Path("/proc/self/status").read_text(), re.MULTILINE
        )
        return str(found)

    assert told() == "1"
    with GivingWay(lambda: 0.0, 0.125) as way:
        assert told() == "0"
        with way.interrupted():
            assert told() == "1"
        assert told() == "0"
    assert told() == "1"


def test_a_policy_that_somebody_chose_stays() -> None:
    program = (
        "import os\n"
        "from rcp.probes.cost.giving_way import GivingWay\n"
        "os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\n"
        "with GivingWay(lambda: 0.0, 0.125):\n"
        "    print(os.sched_getscheduler(0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == os.SCHED_BATCH


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give its rights up")
def test_without_the_right_to_come_back_it_does_not_go() -> None:
    program = (
        "import os, resource\n"
        "from rcp.probes.cost.giving_way import GivingWay\n"
        "resource.setrlimit(resource.RLIMIT_NICE, (0, 0))\n"
        "os.setuid(65534)\n"
        "with GivingWay(lambda: 0.0, 0.125):\n"
        "    print(os.sched_getscheduler(0))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) == os.SCHED_OTHER
