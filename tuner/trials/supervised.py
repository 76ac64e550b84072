"""A command under a supervisor (see ``supervisor``): its output as it comes, and its end."""

from __future__ import annotations

import json
import math
import os
import selectors
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

from rcp.tuner.trials import supervisor

STDOUT, STDERR, TICK = "stdout", "stderr", "tick"
_CONTROL = "control"

_READ_BYTES = 1 << 20
_PATIENCE_S = supervisor.GRACE_S + supervisor.GIVE_UP_S + 5
_START_S = 30.0
"""Time that the supervisor has to start, on a machine that swaps."""

_DRAIN_S = 1.0
"""Wait for output after every process has ended: the rest is in the pipes."""


class SupervisedCommand:
    """A running command; leaving the context ends every process that it started."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start the command."""
        self.error = ""
        """Why it could not be started."""
        self.status: int | None = None
        """Exit status, negative for a signal; None while it runs."""
        self.usage: dict[str, int] = {}
        """``n_left``, ``read_bytes`` and ``written_bytes``, once every process has ended."""
        self._partial_line = b""
        self._is_started = False
        self._drained_s: float | None = None
        self._control, theirs = socket.socketpair()
        self.started_ns = self.ended_ns = time.monotonic_ns()
        with theirs:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-IS", supervisor.__file__, str(theirs.fileno()), *command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
                env=env,
            )
        self._open = selectors.DefaultSelector()
        for name, file in (
            (_CONTROL, self._control),
            (STDOUT, self._supervisor.stdout),
            (STDERR, self._supervisor.stderr),
        ):
            assert file is not None
            self._open.register(file, selectors.EVENT_READ, name)

    def __enter__(self) -> SupervisedCommand:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process and wait until all are gone."""
        self.end()
        for file in (self._supervisor.stdout, self._supervisor.stderr, self._control):
            if file is not None:
                file.close()
        self._open.close()

    def end(self) -> None:
        """End every process that is left."""
        self._control.shutdown(socket.SHUT_WR)
        try:
            self._supervisor.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._supervisor.pid, signal.SIGKILL)
            self._supervisor.wait()

    @property
    def stdout_is_open(self) -> bool:
        """Whether a process still has the command's stdout open."""
        return STDOUT in self._names()

    def _names(self) -> set[str]:
        return {key.data for key in self._open.get_map().values()}

    def output(self, limit_s: float, period_s: float) -> Iterator[tuple[str, bytes]]:
        """Yield output by stream, and a TICK every period, until the command's end or the limit."""
        tick = time.monotonic() + period_s
        while self._names() and (now := time.monotonic()) < (end := self._end_s(limit_s)):
            if now >= tick:
                tick = now + period_s
                yield TICK, b""
            for key, _ in self._open.select(max(0.0, min(tick, end) - now)):
                data = os.read(key.fd, _READ_BYTES)
                if not data:
                    self._open.unregister(key.fileobj)
                    if key.data == _CONTROL:
                        self._drained_s = time.monotonic() + _DRAIN_S
                elif key.data == _CONTROL:
                    self._read_reports(data)
                else:
                    yield key.data, data

    def _end_s(self, limit_s: float) -> float:
        """Return when to stop reading. The limit excludes the start of the supervisor."""
        if self._drained_s is not None:
            return self._drained_s
        if self.status is not None:  # its remaining processes are being ended
            return math.inf
        if not self._is_started:
            limit_s += _START_S
        return self.started_ns / 1e9 + limit_s

    def rest(self) -> Iterator[tuple[str, bytes]]:
        """End every process and yield the rest of their output."""
        self.end()
        self._drained_s = time.monotonic() + _DRAIN_S
        for stream, data in self.output(_DRAIN_S, _DRAIN_S):
            if stream != TICK:
                yield stream, data

    def _read_reports(self, data: bytes) -> None:
        *lines, self._partial_line = (self._partial_line + data).split(b"\n")
        for line in lines:
            report = json.loads(line)
            self.error = report.pop("error", self.error)
            if "started_ns" in report:
                self.started_ns, self._is_started = report.pop("started_ns"), True
            if "status" in report:
                self.status, self.ended_ns = report.pop("status"), time.monotonic_ns()
            self.usage |= report
