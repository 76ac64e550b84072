"""A session ended by a signal restores every knob."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine
from rcp.fixtures.processes import HANG_S
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.session.session import KnobSession

PROGRAM = """
import sys, time
from pathlib import Path
from rcp.fixtures.fake_machine import FakeMachine
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.session.session import KnobSession
with KnobSession(catalog(FakeMachine(Path(sys.argv[1])), "sda"), Path(sys.argv[2])) as session:
    session.apply({"disk.scheduler": "bfq", "vm.dirty_bytes": 1 << 25})
    print("set", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_puts_everything_back(
    machine: FakeMachine, folder: Path, number: signal.Signals
) -> None:
    before = machine.contents()
    command = [sys.executable, "-c", PROGRAM, str(machine.root), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as program:
        assert program.stdout
        assert program.stdout.readline() == b"set\n"
        assert machine.contents() != before
        program.send_signal(number)
        program.wait(timeout=HANG_S)
    assert program.returncode in (128 + number, -number)
    assert machine.contents() == before


def test_a_signal_waits_until_a_write_is_told(machine: FakeMachine, folder: Path) -> None:
    """Sent at every step of a session to the process itself, it finds no step it can harm."""
    before = machine.contents()
    for n in range(1, 60, 3):
        steps = 0

        def step(_what: str, n: int = n) -> None:
            nonlocal steps
            steps += 1
            if steps == n:
                os.kill(os.getpid(), signal.SIGTERM)

        killable = FakeMachine(machine.root, step)
        started = time.monotonic()
        try:
            with KnobSession(catalog(killable, "sda"), folder, step=step) as session:
                session.apply({"disk.scheduler": "rcp", "vm.dirty_bytes": 1 << 25})
        except SystemExit as ended:
            assert ended.code == 128 + signal.SIGTERM
        assert machine.contents() == before, n
        assert time.monotonic() - started < 600  # which only a hang meets
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
