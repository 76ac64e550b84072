"""A command under a keeper (see ``keeper``): its output as it comes, its end, and its ending."""

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
"""What the keeper has to start, on a machine that swaps."""

_DRAIN_S = 1.0
"""How long output is waited for when every process has ended: what is left is in the pipes."""


class Kept:
    """A command that is running; a context whose end ends every process the command started."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        """Start it."""
        self.error = ""
        """Why it could not be started."""
        self.status: int | None = None
        """Exit status, negative for a signal; None while it runs."""
        self.told: dict[str, int] = {}
        """``n_left``, ``read_bytes`` and ``written_bytes`` once every process has ended."""
        self._heard = b""
        self._is_started = False
        self._drained_s: float | None = None
        self._control, theirs = socket.socketpair()
        self.started_ns = self.ended_ns = time.monotonic_ns()
        with theirs:
            self._keeper = subprocess.Popen(
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
            (STDOUT, self._keeper.stdout),
            (STDERR, self._keeper.stderr),
        ):
            assert file is not None
            self._open.register(file, selectors.EVENT_READ, name)

    def __enter__(self) -> Kept:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End every process and wait for that."""
        self.end()
        for file in (self._keeper.stdout, self._keeper.stderr, self._control):
            if file is not None:
                file.close()
        self._open.close()

    def end(self) -> None:
        """Have every process ended, if any is left."""
        self._control.shutdown(socket.SHUT_WR)
        try:
            self._keeper.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._keeper.pid, signal.SIGKILL)
            self._keeper.wait()

    @property
    def stdout_is_open(self) -> bool:
        """Whether somebody can still write to its stdout."""
        return STDOUT in self._names()

    def _names(self) -> set[str]:
        return {key.data for key in self._open.get_map().values()}

    def output(self, limit_s: float, period_s: float) -> Iterator[tuple[str, bytes]]:
        """Yield what it writes, by stream, and a TICK every period, until its end or the limit."""
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
                    self._hear(data)
                else:
                    yield key.data, data

    def _end_s(self, limit_s: float) -> float:
        """Return when to stop listening: the limit is the command's, not its keeper's."""
        if self._drained_s is not None:
            return self._drained_s
        if self.status is not None:  # what it left is being ended
            return math.inf
        if not self._is_started:
            limit_s += _START_S
        return self.started_ns / 1e9 + limit_s

    def rest(self) -> Iterator[tuple[str, bytes]]:
        """End every process and yield what they still wrote."""
        self.end()
        self._drained_s = time.monotonic() + _DRAIN_S
        for stream, data in self.output(_DRAIN_S, _DRAIN_S):
            if stream != TICK:
                yield stream, data

    def _hear(self, data: bytes) -> None:
        *lines, self._heard = (self._heard + data).split(b"\n")
        for line in lines:
            what = json.loads(line)
            self.error = what.pop("error", self.error)
            if "started_ns" in what:
                self.started_ns, self._is_started = what.pop("started_ns"), True
            if "status" in what:
                self.status, self.ended_ns = what.pop("status"), time.monotonic_ns()
            self.told |= what
