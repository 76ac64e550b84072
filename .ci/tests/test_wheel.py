"""Every command works from a wheel in an empty environment, far from any checkout.

`make test-wheel` runs this: it builds the wheel, installs it with all it needs, and types what a
user types. What only a kernel can show (recording) is run in the lab, from the same wheel.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
import zipfile
from pathlib import Path

import pytest

from rcp.fixtures.console import leaves
from rcp.ui.browser import free_port

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "fixtures/recordings"
pytestmark = pytest.mark.wheel

_NOT_INSTALLED = re.compile(
    r"(^|/)tests/|(^|/)README\.md$|^kernel-patch/series\.sh$"
    r"|^fixtures/(gate|latencies|tuning)/"  # read by tests and benchmarks of a checkout only
)
_FOLDERS = ("probes", "analyzer", "tuner", "ui", "fixtures", "kernel-patch")
RUNS = {
    "rcp-trace report": ["rec.duckdb"],
    "rcp-trace path": ["rec.duckdb", "1234"],
    "rcp-trace diff": ["rec.duckdb", "rec.duckdb"],
    "rcp-trace whatif": ["rec.duckdb", "--without", "#1"],
    "rcp-trace roles": ["rec.duckdb"],
    "rcp-trace schema": [],
    "rcp-trace sql": ["rec.duckdb", "SELECT count(*) FROM request"],
    "rcp-trace recover": ["rec.spool.tar.xz", "-o", "again.duckdb"],
    "rcp-trace export": ["rec.duckdb", "--perfetto", "-o", "rec.perfetto-trace"],
    "rcp-trace summary": ["rec.duckdb", "--fleet", "fleet"],
    "rcp-trace fleet report": ["fleet"],
    "rcp-trace fleet diff": ["fleet", "host=*", "kernel=*"],
    "rcp-trace fleet sql": [".", "SELECT count(*) FROM request"],
    "rcp-trace agent": ["--check", "--config", "agent.toml"],
    "rcp-trace gate check": ["rec.duckdb", "--slo", "p99=1s"],
    "rcp-trace gate save": ["lines.txt", "-o", "baseline"],
    "rcp-trace gate history": ["baseline"],
    "rcp-trace gate run": ["--a", "cat lines.txt", "--b", "cat lines.txt", "--runs", "8"],
    "rcp-tune run": [
        *("--slo", "p90=3ms@read", "--lab", "reads-vs-compaction", "-e", "REQUESTS=100"),
        *("--knobs", "stock", "--trials", "1", "--confirm", "1", "--no-ablation", "--no-record"),
    ],
    "rcp-tune status": ["rcp-tune.duckdb"],
    "rcp-tune show": ["rcp-tune.duckdb"],
    "rcp-tune explain": ["study.duckdb"],
    "rcp-tune export": ["study.duckdb", "-o", "trials.csv"],
    "rcp-tune compare": ["study.duckdb", "study.duckdb"],
    "rcp-tune merge": ["study.duckdb", "other.duckdb", "-o", "merged.duckdb"],
    "rcp-tune restore": ["--journal", "journal"],
    "rcp-tune keep": ["best.toml", "--format", "sysctl"],
    "rcp-tune verify": ["best.toml"],
    "rcp-tune profiles list": [],
    "rcp-tune profiles show": ["postgresql"],
    "rcp-lab scenarios": [],
    "rcp-lab setup": ["-q"],
    "rcp-lab run": ["-q", "--timing", "--out", "lab", "--", "rcp-trace doctor; rcp-run --version"],
    "rcp-run": ["--version"],
}
"""Words to try each command with, in this order: each uses what those above it wrote."""

MAY_END = {
    "rcp-trace fleet sql": (0, 3),  # 3: a study, which is no recording, lies beside them
    "rcp-tune run": (0, 1),  # 1: the SLO is not met, which one trial need not reach
    "rcp-tune verify": (0, 1),  # 1: this machine is set otherwise
}

ELSEWHERE = {
    "rcp-trace explore": "test_the_explorer_serves_its_page",
    "rcp-trace doctor": "in the guest, by rcp-lab run",
    "rcp-trace record": "test_a_recording_is_made_in_the_guest",
    "rcp-trace live": "needs a terminal and a kernel; imports what record imports",
    "rcp-lab shell": "needs a terminal",
    "rcp-lab build": "15 minutes; make test-kernel-smoke",
    "rcp-lab clean": "would delete the lab's cache",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    source = out / "source"
    # From the files git knows: a wheel must not hold what happens to lie in a checkout.
    subprocess.run(["git", "-C", ROOT, "checkout-index", "-a", f"--prefix={source}/"], check=True)
    pip: list[str | Path] = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "-w",
        out,
        source,
    ]
    subprocess.run(pip, check=True)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder outside any checkout, with the wheel in an environment of its own."""
    folder = tmp_path_factory.mktemp("place")
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    pip: list[str | Path] = [
        folder / "venv/bin/pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        *("-c", ROOT / ".ci/constraints.txt"),
    ]
    subprocess.run([*pip, f"{wheel}[ui]"], check=True)
    (folder / "rec.spool.tar.xz").write_bytes(
        (RECORDINGS / "wal-vs-checkpoint.spool.tar.xz").read_bytes()
    )
    for name in ("study.duckdb", "other.duckdb"):
        (folder / name).write_bytes((RECORDINGS / "reads-vs-writers.duckdb").read_bytes())
    (folder / "agent.toml").write_text('[window]\nwhen = ["request>1s"]\n')
    (folder / "lines.txt").write_text("".join(f"{1 + i % 100}us\n" for i in range(2000)))
    disk = min(entry.name for entry in Path("/sys/block").iterdir())
    (folder / "best.toml").write_text(
        f'disk = "{disk}"\n[settings]\n"vm.dirty_expire_centisecs" = 3000\n'
    )
    run(folder, "rcp-trace recover", ["rec.spool.tar.xz", "-o", "rec.duckdb"])
    return folder


def run(folder: Path, command: str, words: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a command of the wheel, as a user does whose PATH has its environment."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "RCP_REQ"))}
    environment["PATH"] = f"{folder / 'venv/bin'}:{environment['PATH']}"
    name, *rest = command.split()
    return subprocess.run(
        [folder / "venv/bin" / name, *rest, *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_command_is_tried_from_the_wheel() -> None:
    tried = {typed for typed, command in leaves() if not command.hidden}
    assert tried == set(RUNS) | set(ELSEWHERE)


def test_the_wheel_holds_every_file_of_the_packages(wheel: Path) -> None:
    listed = subprocess.run(
        ["git", "-C", ROOT, "ls-files", *_FOLDERS], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    wanted = {path for path in listed if path and not _NOT_INSTALLED.search(path)}
    names = set(zipfile.ZipFile(wheel).namelist())
    installed = {
        f"rcp/{path}".replace("rcp/kernel-patch/lab/", "rcp/lab/")
        .replace("rcp/kernel-patch/mark/", "rcp/mark/")
        .replace("rcp/kernel-patch/", "rcp/kernel_patch/")
        for path in wanted
    }
    assert installed - names == set()


@pytest.mark.parametrize("command", RUNS)
def test_a_command_of_the_wheel_works(place: Path, command: str) -> None:
    done = run(place, command, RUNS[command])
    assert done.returncode in MAY_END.get(command, (0,)), done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_trial_of_the_tuner_was_made_on_a_machine_that_was_set_for_it(place: Path) -> None:
    """What `rcp-tune run` above measured, on a real kernel with a simulated disk."""
    shown = run(place, "rcp-tune show", ["rcp-tune.duckdb", "--format", "json"])
    assert shown.returncode == 0, shown.stderr
    rows = json.loads(shown.stdout)
    assert not any(row["failed"] for row in rows), rows
    baseline, trial, *_ = rows
    assert [row["phase"] for row in (baseline, trial)] == ["baseline", "search"]
    assert baseline["settings"] == {}
    assert trial["settings"]
    # The baseline waits behind the compaction, so it is a real machine that has been measured.
    slo = "p90=3ms@read"
    assert baseline["ratios"][slo] > 1
    assert baseline["ratios"][slo] != trial["ratios"][slo]


def test_a_recording_is_made_in_the_guest(place: Path) -> None:
    job = "dd if=/dev/zero of=/root/f bs=4k count=2000 oflag=dsync 2>&1"
    script = f"rcp-trace record -o $RCP_LAB_OUT/dd.spool -- sh -c '{job}'"
    done = run(place, "rcp-lab run", ["-q", "--timing", "--out", "made", "--", script])
    assert done.returncode == 0, done.stdout + done.stderr
    report = run(place, "rcp-trace report", ["made/dd.spool"])
    assert report.returncode == 0, report.stderr
    assert "dd" in report.stdout


def _page(address: str, server: subprocess.Popen[str]) -> bytes:
    # The address is printed before the server listens.
    while server.poll() is None:
        try:
            with urllib.request.urlopen(address) as answer:
                return bytes(answer.read())
        except OSError:
            time.sleep(0.2)
    raise AssertionError("the server has ended")


def test_the_explorer_serves_its_page(place: Path) -> None:
    command: list[str | Path] = [
        place / "venv/bin/rcp-trace",
        "explore",
        "rec.duckdb",
        "--no-browser",
    ]
    with subprocess.Popen(
        [*command, "--port", str(free_port())], cwd=place, stderr=subprocess.PIPE, text=True
    ) as server:
        try:
            assert server.stderr is not None
            address = re.search(r"http\S+", server.stderr.readline())
            assert address
            page = _page(address[0], server)
        finally:
            server.send_signal(signal.SIGINT)
    assert b"<title>" in page
