"""Runs in the lab's guest, as root: an agent under a small load, through its whole life.

Writes agent.json: name of the check to what was seen. test_lab_agent.py judges it.
"""

import json
import os
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rcp.probes.tests.lab.guest_recorder import bpf_programs
else:
    from guest_recorder import bpf_programs

WORK = Path("/tmp/agent")
OUT = Path(os.environ["RCP_LAB_OUT"])
PORT = 9760
LIMIT_S = 120  # of virtual time: no matter how busy the host is
DELETED = 'rcp_recordings_deleted_total{why="age"}'
# What the unit leaves a root service.
CAPS = "-all,+bpf,+perfmon,+sys_ptrace,+syslog"
LIMITED = ("setpriv", f"--bounding-set={CAPS}", f"--inh-caps={CAPS}")
CONFIG = """
[record]
comm = ["fio"]
[window]
keep = "8s"
after = "1s"
when = ["fsync>{bound}"]
at_most_every = "1s"
[recordings]
folder = "/tmp/agent/kept"
max_disk = "64 MiB"
max_age = "{age}"
[summaries]
enabled = false
[budget]
max_cpu = 50
"""
LOAD = (
    *("fio", "--name=load", "--filename=/tmp/agent/data", "--size=1m", "--rw=write", "--bs=4k"),
    *("--fsync=1", "--time_based", "--runtime=1000", "--rate_iops=50", "--output=/dev/null"),
)


def until(is_so: Callable[[], Any], what: str) -> Any:
    """Wait until something is so; return it."""
    end_s = time.monotonic() + LIMIT_S
    while not (found := is_so()):
        if time.monotonic() > end_s:
            raise TimeoutError(what)
        time.sleep(0.1)
    return found


def scrape() -> dict[str, float]:
    """The samples of /metrics, by name and labels; empty while nobody answers."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/metrics",
        headers={"Accept": "application/openmetrics-text;version=1.0.0"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            text = answer.read().decode()
    except OSError:
        return {}
    (OUT / "scrape.txt").write_text(text)
    lines = re.findall(r"^(\w+(?:\{.*?\})?) ([-+.e\d]+)", text, re.MULTILINE)
    return {name: float(value) for name, value in lines}


def requests() -> float:
    """Number of fsyncs that /metrics has counted."""
    return scrape().get('rcp_request_duration_seconds_count{request="fsync"}', 0)


class Agent:
    """An agent with a notification socket, as systemd would start it."""

    # 100ns: an fsync of a file in memory takes half a microsecond of virtual time.
    def __init__(self, bound: str = "100ns", age: str = "1h", wrap: tuple[str, ...] = ()) -> None:
        self.config = WORK / "agent.toml"
        self.configure(bound, age)
        self.where = WORK / "notify"
        self.where.unlink(missing_ok=True)
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.manager.bind(str(self.where))
        self.manager.setblocking(False)
        self.log = (WORK / "log").open("w+")
        environ = {"NOTIFY_SOCKET": str(self.where), "WATCHDOG_USEC": "20000000"}
        self.process = subprocess.Popen(
            [*wrap, "rcp-trace", "agent", "--config", str(self.config)],
            stderr=self.log,
            env={**os.environ, **environ},
        )
        self.told: list[str] = []
        until(self.is_ready, "ready")

    def configure(self, bound: str, age: str = "1h") -> None:
        self.config.write_text(CONFIG.format(bound=bound, age=age))

    def is_ready(self) -> bool:
        """Whether it said so; raises RuntimeError with its words if it ended."""
        if self.process.poll() is not None:
            raise RuntimeError(self.said())
        return "READY=1" in self.heard()

    def heard(self) -> str:
        """All that the manager heard."""
        while True:
            try:
                self.told.append(self.manager.recv(4096).decode())
            except BlockingIOError:
                return "\n".join(self.told)

    def said(self) -> str:
        return (WORK / "log").read_text()

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(LIMIT_S)


def recordings() -> list[str]:
    return sorted(path.name for path in (WORK / "kept/recordings").iterdir())


def first_life() -> dict[str, Any]:
    """Start with the unit's rights; count, write, rotate, reload, be killed."""
    before = bpf_programs()
    agent = Agent(wrap=LIMITED)
    during = bpf_programs()
    until(lambda: requests() > 100, "requests")
    until(lambda: len(recordings()) >= 2, "recordings")
    written = recordings()
    agent.configure("not a duration")
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: "stays in force" in agent.said(), "a refused reload")
    agent.configure("2s", age="1s")
    agent.process.send_signal(signal.SIGHUP)
    until(lambda: "was read again" in agent.said(), "a reload")
    counted = until(requests, "metrics after the reload")
    until(lambda: requests() > counted, "requests after the reload")
    until(lambda: not recordings(), "rotation by age")
    until(lambda: "WATCHDOG=1" in agent.heard(), "a sign of life")
    # Counted a moment after the last one is gone.
    until(lambda: scrape().get(DELETED, 0) >= len(written), "rotation counted")
    seen = scrape()
    status = agent.end(signal.SIGKILL)
    time.sleep(1)
    return {
        "programs": [before, during, bpf_programs()],
        "written": written,
        "scrape": seen,
        "heard": agent.heard(),
        "said": agent.said(),
        "status": status,
    }


def second_life() -> dict[str, Any]:
    """Start where one was killed; end as asked."""
    left = (WORK / "kept/window.spool").exists()
    before = bpf_programs()
    agent = Agent(bound="2s")
    until(requests, "requests")
    kept = recordings()
    second = subprocess.run(
        ["rcp-trace", "agent", "--config", str(agent.config)],
        capture_output=True,
        text=True,
        check=False,
    )
    status = agent.end(signal.SIGTERM)
    time.sleep(1)
    return {
        "left": left,
        "kept": kept,
        "second": [second.returncode, second.stderr],
        "programs": [before, bpf_programs()],
        "said": agent.said(),
        "heard": agent.heard(),
        "status": status,
        "window": (WORK / "kept/window.spool").exists(),
    }


def refused(change: str, wrap: tuple[str, ...] = ()) -> dict[str, Any]:
    """An agent that cannot run here, after a *change* that only it sees."""
    Path(CONFIG_FILE).write_text(CONFIG.format(bound="1s", age="1h"))
    script = f"{change or ':'}; exec {' '.join(wrap)} rcp-trace agent --config $0"
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, CONFIG_FILE],
        capture_output=True,
        text=True,
        check=False,
    )
    return {"status": done.returncode, "stderr": done.stderr}


CONFIG_FILE = str(WORK / "agent.toml")
EMPTY = "mount -t tmpfs tmpfs"


def main() -> None:
    WORK.mkdir()
    refused_by_kernel = refused("", LIMITED)
    # Debian's default is 3, which keeps perf events to CAP_SYS_ADMIN.
    Path("/proc/sys/kernel/perf_event_paranoid").write_text("2")
    load = subprocess.Popen(LOAD)
    seen = {
        "paranoid": refused_by_kernel,
        "first": first_life(),
        "second": second_life(),
        "no_btf": refused(f"{EMPTY} /sys/kernel/btf"),
        "no_tracefs": refused(
            "umount -R /sys/kernel/tracing; umount -R /sys/kernel/debug 2>/dev/null"
        ),
        "read_only": refused(
            "mount -o remount,ro /sys; mount -t tmpfs -o ro tmpfs /tmp/agent/kept"
        ),
    }
    load.kill()
    (OUT / "agent.json").write_text(json.dumps(seen))


try:
    main()
except TimeoutError:
    print((WORK / "log").read_text())
    raise
