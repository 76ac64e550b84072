"""The kernel of kernel-patch/upstream: its limit, and whose priority a commit has."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.kernel, pytest.mark.usefixtures("lab")]

SCRIPT = Path(__file__).with_name("guest_upstream.py")


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What one boot with guest_upstream.py left."""
    out = tmp_path_factory.mktemp("upstream") / "out"
    command = [sys.executable, "-m", "rcp.lab", "run", "--timing", "--kernel", "upstream"]
    command += ["--timeout", "1800", "--out", str(out), "--input", str(SCRIPT)]
    command += ["--", "python3 $RCP_LAB_IN/inputs/guest_upstream.py"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads((out / "seen.json").read_text())


def test_the_disk_has_few_requests_of_lower_classes(seen):
    held = seen["held"]
    assert held["unlimited"]["most"] > 8
    assert held["two"]["most"] == 2
    assert held["one"]["most"] == 1
    # Reads of class RT no longer wait for a full queue, and writes go on all the while.
    assert held["two"]["p50_ns"] * 3 < held["unlimited"]["p50_ns"]
    assert held["one"]["writes"] > 100


def test_nobody_is_held_where_no_class_is_higher(seen):
    assert seen["held"]["nobody"]["most"] > 8


def test_limits_and_schedulers_can_be_changed_under_load(seen):
    assert seen["switched"] == 40 * 20


def test_a_commit_has_the_class_of_who_waits(seen):
    assert len(seen["real time"]) >= 10
    assert set(seen["real time"]) == {1}
    for quiet in ("best effort", "again"):
        assert len(seen[quiet]) >= 10
        assert set(seen[quiet]) == {0}


def test_the_journals_thread_gets_its_priority_back(seen):
    before, after, remounted = seen["thread"]
    assert before == after == "best-effort: prio 3"
    assert remounted == "best-effort: prio 5"


def test_the_kernel_has_nothing_to_complain_about(seen):
    assert seen["complaints"] == []
