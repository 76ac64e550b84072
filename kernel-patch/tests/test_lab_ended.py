"""A lab that is ended takes its emulator and its files with it, whatever ends it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.fixtures.processes import HANG_S, comes_true, emulators

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGINT, 130), (signal.SIGKILL, -9)],
)
def test_rcp_lab_leaves_no_emulator(tmp_path: Path, number: signal.Signals, status: int) -> None:
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    scratch.mkdir()
    words = [sys.executable, "-m", "rcp.lab", "run", "-q", "--timing", "--out", str(out)]
    lab = subprocess.Popen(
        [*words, "--", "sleep 100000000"], env={**os.environ, "TMPDIR": str(scratch)}
    )
    try:
        assert comes_true(lambda: emulators(out) != [])
        lab.send_signal(number)
        assert lab.wait(HANG_S) == status
    finally:
        lab.kill()
        lab.wait()
    assert comes_true(lambda: emulators(out) == [])
    if number != signal.SIGKILL:
        assert list(scratch.iterdir()) == []
        assert '"outcome": "interrupted"' in (out / "result.json").read_text()
