"""A child ends with its parent, whatever ends that; real processes throughout."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rcp.analyzer.gate.child import run_child
from rcp.fixtures.processes import HANG_S, comes_true

# Like rcp-lab: what it started itself is in another session, and ended when it ends in order.
CHILD = """
import os, subprocess, sys, time, signal
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(3))
other = subprocess.Popen(["sleep", "300"], start_new_session=True)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(f"{os.getpid()} {other.pid}")
os.rename(sys.argv[1] + ".new", sys.argv[1])
try:
    time.sleep(300)
finally:
    other.kill()
    other.wait()
    open(sys.argv[1] + ".ended", "w").close()
"""
PARENT = """
import subprocess, sys
from rcp.analyzer.gate import child
from rcp.fixtures.processes import HANG_S
child.GRACE_S = HANG_S  # a child that ends in order has the time for it, on a busy machine too
words = [sys.executable, *sys.argv[1:]]
child.run_child(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
"""


def gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return True
    return state == "Z"


@contextmanager
def tree(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[bytes], list[int]]]:
    """The parent, and the pids of its child and grandchild."""
    (tmp_path / "child.py").write_text(CHILD)
    pids = tmp_path / "pids"
    words = [sys.executable, "-c", PARENT, str(tmp_path / "child.py"), str(pids)]
    parent = subprocess.Popen(words)
    try:
        assert comes_true(pids.exists)
        yield parent, [int(pid) for pid in pids.read_text().split()]
    finally:
        parent.kill()
        parent.wait()


@pytest.mark.parametrize(
    ("number", "status"),
    [
        (signal.SIGTERM, 128 + signal.SIGTERM),
        (signal.SIGHUP, 128 + signal.SIGHUP),
        (signal.SIGINT, -signal.SIGINT),
        (signal.SIGKILL, -signal.SIGKILL),
    ],
)
def test_a_child_ends_in_order_when_its_parent_is_ended(
    tmp_path: Path, number: signal.Signals, status: int
) -> None:
    with tree(tmp_path) as (parent, pids):
        parent.send_signal(number)
        assert parent.wait(HANG_S) == status
        assert comes_true(lambda: all(gone(pid) for pid in pids))
    assert (tmp_path / "pids.ended").exists()


def test_what_does_not_end_is_killed_with_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rcp.analyzer.gate.child.GRACE_S", 0.5)
    pids = tmp_path / "pids"
    deaf = f"trap '' TERM; sleep 300 & echo $$ $! > {pids}; while :; do sleep 1; done"
    with pytest.raises(subprocess.TimeoutExpired):
        run_child(
            ["sh", "-c", deaf], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout_s=5
        )
    assert comes_true(lambda: all(gone(int(pid)) for pid in pids.read_text().split()))


def test_the_status_is_the_programs_own() -> None:
    words = ["sh", "-c", "exit 5"]
    assert run_child(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == 5
    words = ["sh", "-c", "kill -9 $$"]
    assert run_child(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) == -9


def test_signals_that_are_ignored_stay_so(tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text("import sys, time; time.sleep(float(sys.argv[1]))")
    words = [sys.executable, "-c", PARENT, str(tmp_path / "child.py"), "2"]
    parent = subprocess.Popen(
        words, preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN) and None
    )
    time.sleep(1)
    os.kill(parent.pid, signal.SIGHUP)
    assert parent.wait(HANG_S) == 0
