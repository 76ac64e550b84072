"""Ctrl-C ends every program with status 130 and without a word, whenever it comes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rcp.fixtures.processes import HANG_S
from rcp.probes.contract.boundary import EXIT_FAULT, EXIT_INTERRUPTED

ROOT = Path(__file__).parents[3]
RECORDING = ROOT / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"
STUDY = ROOT / "fixtures/recordings/reads-vs-writers.duckdb"
INSTANTS_MS = range(0, 2000, 80)
"""Each for one of the commands, after our first line has run: before it Ctrl-C is Python's."""

START = """
import os, signal, sys
module, announce = sys.argv[1], int(sys.argv[2])
sys.argv = ["program", *sys.argv[3:]]
from rcp.probes.contract.boundary import run
signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # as run does first
os.write(announce, b"!")
os.close(announce)
run("rcp-trace" if module == "rcp.analyzer" else "rcp-tune", module + ".cli:main")
"""
TWO = ["gate", "run", "--a", "sleep 1; echo 1ms", "--b", "sleep 1; echo 1ms"]
COMMANDS = {
    "report": ("rcp.analyzer", ["report", str(RECORDING)]),
    "recover": ("rcp.analyzer", ["recover", str(RECORDING), "-o", "{tmp}/x.duckdb"]),
    "gate run": ("rcp.analyzer", TWO),
    "gate": ("rcp.analyzer", ["gate", "{tmp}/n.txt", "--baseline", "{tmp}/n.txt", "--unit", "ms"]),
    "explain": ("rcp.tuner", ["explain", str(STUDY)]),
}


def ended_by(number: signal.Signals, name: str, after_s: float, tmp_path: Path) -> tuple[int, str]:
    """Start a command, signal it, return its exit status and standard error."""
    module, words = COMMANDS[name]
    (tmp_path / "n.txt").write_text("".join(f"{1 + i % 97}\n" for i in range(200_000)))
    read_end, write_end = os.pipe()
    arguments = [word.format(tmp=tmp_path) for word in words]
    with subprocess.Popen(
        [sys.executable, "-c", START, module, str(write_end), *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        pass_fds=(write_end,),
    ) as process:
        os.close(write_end)
        assert select.select([read_end], [], [], HANG_S)[0]
        os.close(read_end)
        time.sleep(after_s)
        process.send_signal(number)
        _, stderr = process.communicate(timeout=HANG_S)
    return process.returncode, stderr


@pytest.mark.parametrize(
    ("name", "after_ms"), [(list(COMMANDS)[i % 5], ms) for i, ms in enumerate(INSTANTS_MS)]
)
def test_ctrl_c_is_130_without_a_word(name: str, after_ms: int, tmp_path: Path) -> None:
    status, stderr = ended_by(signal.SIGINT, name, after_ms / 1000, tmp_path)
    # what it says when it is done may come just before Ctrl-C does
    own = "rcp-trace: A, run", "rcp-trace: B, run", f"{tmp_path}/x.duckdb written; read it with"
    said = [line for line in stderr.splitlines() if line and not line.startswith(own)]
    if status in (EXIT_INTERRUPTED, -signal.SIGINT):  # the latter while Python ends: 130 in a shell
        assert said == []
    else:  # it was done before
        assert after_ms > 0 and status in (0, 2, 3), stderr  # 3: inconclusive


def test_sigterm_is_left_to_the_system(tmp_path: Path) -> None:
    status, stderr = ended_by(signal.SIGTERM, "gate run", 0.5, tmp_path)
    assert status in (-signal.SIGTERM, 128 + signal.SIGTERM)  # 143 in a shell
    assert "Traceback" not in stderr


FAULTY = """
import sys, types, click
from rcp.probes.contract import boundary
@click.command()
def main(): raise ZeroDivisionError("by zero")
module = sys.modules["toy"] = types.ModuleType("toy")
module.main = main
boundary.run("rcp-toy", "toy:main")
"""


def test_a_fault_of_rcp_is_never_status_1() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FAULTY], capture_output=True, text=True, check=False
    )
    assert done.returncode == EXIT_FAULT == 70
    assert "ZeroDivisionError: by zero\n" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("rcp-toy: error: a fault of rcp")


@pytest.mark.parametrize(
    ("module", "status", "line"),
    [
        (
            "duckdb_of_nobody.core",
            2,
            "rcp-toy: error: the Python package duckdb_of_nobody is not installed: install rcp "
            "with pip, which brings it.",
        ),
        ("rcp.nothing", 70, "rcp-toy: error: a fault of rcp: please report the lines above."),
    ],
)
def test_a_package_that_is_not_installed_is_named(module: str, status: int, line: str) -> None:
    text = FAULTY.replace('raise ZeroDivisionError("by zero")', f"import {module}")
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=False)
    assert done.returncode == status
    assert done.stderr.splitlines()[-1] == line
    assert ("Traceback" in done.stderr) is (status == 70)


DESTRUCTOR = """
import os, signal, sys, types, click
from rcp.probes.contract import boundary
class Thing:
    def __del__(self): os.kill(os.getpid(), signal.SIGINT)
@click.command()
def main():
    Thing()  # Ctrl-C hits its destructor, which cannot raise
    while True: pass
module = sys.modules["toy"] = types.ModuleType("toy")
module.main = main
boundary.run("rcp-toy", "toy:main")
"""


def test_ctrl_c_in_a_destructor_is_not_lost() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DESTRUCTOR],
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_S,
    )
    assert (done.returncode, done.stderr) == (EXIT_INTERRUPTED, "\n")


IGNORING = """
import os, signal, sys, types, click
signal.signal(signal.SIGINT, signal.SIG_IGN)
from rcp.probes.contract import boundary
@click.command()
def main(): os.kill(os.getpid(), signal.SIGINT)
module = sys.modules["toy"] = types.ModuleType("toy")
module.main = main
boundary.run("rcp-toy", "toy:main")
"""


def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """As under nohup, or in a shell's background job."""
    assert subprocess.run([sys.executable, "-c", IGNORING], check=False).returncode == 0


def test_the_explorer_ends_while_it_starts() -> None:
    code = (
        "import os, signal, sys\n"
        "class Finder:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name == 'streamlit': os.kill(os.getpid(), signal.SIGINT)\n"
        "sys.meta_path.insert(0, Finder())\n"
        "import rcp.ui.serve\n"
        "rcp.ui.serve.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=HANG_S
    )
    assert (done.returncode, done.stderr) == (EXIT_INTERRUPTED, "")
