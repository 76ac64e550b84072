"""A lab that is ended takes its emulator and its files with it, whatever ends it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def _soon(what: Callable[[], bool], limit_s: float) -> bool:
    end = time.monotonic() + limit_s
    while not what() and time.monotonic() < end:
        time.sleep(0.1)
    return what()


def _emulators(out: Path) -> list[int]:
    """The processes that write the console of the run in *out*."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            told = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if f"path={out}/console.log".encode() in told:
            found.append(int(folder.name))
    return found


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
        assert _soon(lambda: _emulators(out) != [], 200)
        lab.send_signal(number)
        assert lab.wait(30) == status
    finally:
        lab.kill()
        lab.wait()
    assert _soon(lambda: _emulators(out) == [], 10)
    if number != signal.SIGKILL:
        assert list(scratch.iterdir()) == []
        assert '"outcome": "interrupted"' in (out / "result.json").read_text()
