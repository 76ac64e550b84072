"""Runs one command and ends it with every process it started. A program of its own, stdlib only.

    python supervisor.py CONTROL_FD COMMAND...

It adopts orphans of the command (PR_SET_CHILD_SUBREAPER), so that daemons are found too. When the
command ends, or the other end of the socket CONTROL_FD is closed (the caller stops the command, or
was killed), it ends them all: SIGTERM, then SIGKILL. On the socket it reports, one JSON object a
line::

    {"started_ns": 17}                 CLOCK_MONOTONIC
    {"error": "Permission denied"}     it could not be started
    {"status": 3}                      exit status, negative for a signal
    {"n_left": 1, "read_bytes": 4096, "written_bytes": 8192}   processes left; bytes of all
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h

GRACE_S = 2.0
"""Time that processes have after SIGTERM to write their output."""

GIVE_UP_S = 10.0
"""Wait after SIGKILL: a process in uninterruptible sleep ends when its I/O does, if ever."""

POLL_S = 0.02


def _parents() -> dict[int, int]:
    """Return the parent of every process by pid."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, IndexError, ValueError):
            # The name is in parentheses and may hold any character.
            found[int(path.name)] = int((path / "stat").read_text().rpartition(")")[2].split()[1])
    return found


def descendants(pid: int) -> list[int]:
    """Return every descendant of process *pid*, including zombies."""
    parents = _parents()
    found, new = [], [pid]
    while new:
        new = [child for child, parent in parents.items() if parent in new]
        found += new
    return found


class Supervisor:
    """Runs the command and reports on the control socket."""

    def __init__(self, control: socket.socket) -> None:
        """Become the subreaper; reports go to *control*."""
        self._control = control
        self._status: int | None = None
        # Keep the object: a collected Popen reaps its process, and the status is lost.
        self._command: subprocess.Popen[bytes] | None = None
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)

    def report(self, **fields: object) -> None:
        """Send one report to the caller, if it is still there."""
        with contextlib.suppress(OSError):
            self._control.sendall(json.dumps(fields).encode() + b"\n")

    def run(self, command: list[str]) -> None:
        """Run the command until it ends or the control socket is closed."""
        wake_read, wake_write = os.pipe()
        os.set_blocking(wake_write, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda number, frame: None)
        self.report(started_ns=time.monotonic_ns())  # after the start of this interpreter
        try:
            self._command = subprocess.Popen(command, process_group=0)
        except OSError as error:
            self.report(error=error.strerror)
            return
        null = os.open(os.devnull, os.O_RDWR)
        os.dup2(null, 1)  # so that the pipes reach EOF when the command closes its ends
        os.dup2(null, 2)
        while self._status is None:
            ready, _, _ = select.select([self._control.fileno(), wake_read], [], [])
            if wake_read in ready:
                os.read(wake_read, 4096)
            self._reap()
            if self._control.fileno() in ready:
                break
        n_left = len(self._alive()) if self._status is not None else 0
        self._end_all()
        self._reap()
        self.report(n_left=n_left, **self._bytes())

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if self._command is not None and pid == self._command.pid:
                self._command.returncode = self._status = os.waitstatus_to_exitcode(status)
                self.report(status=self._status)

    def _alive(self) -> list[int]:
        self._reap()
        return descendants(os.getpid())

    def _end_all(self) -> None:
        self._signal_until_gone(signal.SIGTERM, GRACE_S)
        self._signal_until_gone(signal.SIGKILL, GIVE_UP_S)

    def _signal_until_gone(self, number: int, limit_s: float) -> None:
        """Signal every process once, new ones too, until none is left."""
        end = time.monotonic() + limit_s
        signalled: set[int] = set()
        while (pids := self._alive()) and time.monotonic() < end:
            for pid in set(pids) - signalled:
                with contextlib.suppress(OSError):
                    os.kill(pid, number)
                signalled.add(pid)
            time.sleep(POLL_S)

    def _bytes(self) -> dict[str, int]:
        """Return the disk I/O of all processes: reaped children are counted with their parent."""
        try:
            lines = Path("/proc/self/io").read_text().splitlines()
        except OSError:
            return {}
        counts = dict(line.split(": ") for line in lines)
        return {
            "read_bytes": int(counts["read_bytes"]),
            "written_bytes": int(counts["write_bytes"]),
        }


def main() -> None:
    """Run the command of the arguments."""
    control = socket.socket(fileno=int(sys.argv[1]))
    control.set_inheritable(False)
    Supervisor(control).run(sys.argv[2:])


if __name__ == "__main__":
    main()
