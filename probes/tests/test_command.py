import os
import signal
import time
from pathlib import Path

import pytest

from rcp.probes.command import ForkedCommand
from rcp.probes.signals import Signals


def wait_for(command: ForkedCommand) -> int:
    while (status := command.poll()) is None:
        time.sleep(0.01)
    return status


def test_nothing_runs_before_the_release(tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    command = ForkedCommand(["touch", str(mark)])
    time.sleep(0.1)
    assert not mark.exists()
    command.release()
    assert wait_for(command) == 0
    assert mark.exists()


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 23"], 23),
        (["sh", "-c", "kill -9 $$"], 137),
        (["/no/such/command"], 127),
    ],
)
def test_the_exit_status_comes_back(argv: list[str], status: int) -> None:
    command = ForkedCommand(argv)
    command.release()
    assert wait_for(command) == status


def test_a_command_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    script = f"trap '' TERM; : > {ready}; while :; do sleep 0.05; done"
    command = ForkedCommand(["sh", "-c", script])
    command.release()
    while not ready.exists():
        time.sleep(0.01)
    assert command.stop(patience_s=0.2) == 128 + signal.SIGKILL


def test_a_held_command_can_be_stopped() -> None:
    assert ForkedCommand(["true"]).stop() == 128 + signal.SIGTERM


def test_a_signal_ends_the_wait_and_the_first_one_is_remembered() -> None:
    signals = Signals()
    before = signal.getsignal(signal.SIGTERM)
    with signals.caught():
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        started_s = time.monotonic()
        signals.wait(3600)
        assert time.monotonic() - started_s < 1800  # which only a hang meets
        assert signals.received is signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before


def test_the_end_of_a_child_ends_the_wait() -> None:
    signals = Signals()
    with signals.caught():
        command = ForkedCommand(["true"])
        command.release()
        started_s = time.monotonic()
        while command.poll() is None:
            signals.wait(3600)
        assert time.monotonic() - started_s < 1800  # which only a hang meets
        assert signals.received is None
