"""The command to record: forked first, executed once the probes are attached."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Sequence

_CANNOT_RUN = 127  # what shells return for a command that was not found


class ForkedCommand:
    """A child process that waits for ``release`` before it calls exec."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Fork the child; it blocks until released, and exits if the recorder dies first."""
        self.argv = list(argv)
        read_end, self._release_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._release_end)
            self._exec_when_released(read_end)
        os.close(read_end)
        self._status: int | None = None

    def _exec_when_released(self, read_end: int) -> None:
        # The recorder's handlers are not for the command: Ctrl-C must end it by default.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            if os.read(read_end, 1) != b"g":
                os._exit(_CANNOT_RUN)  # the recorder died before the probes were attached
            os.execvp(self.argv[0], self.argv)
        except OSError as error:
            os.write(2, f"rcp-trace: cannot run {self.argv[0]}: {error.strerror}\n".encode())
        os._exit(_CANNOT_RUN)

    def release(self) -> None:
        """Execute the command."""
        os.write(self._release_end, b"g")
        os.close(self._release_end)

    def poll(self) -> int | None:
        """Return the exit status once the command has ended (128 + signal when killed)."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                self._status = code if code >= 0 else 128 - code
        return self._status

    def stop(self, patience_s: float = 5.0) -> int:
        """End the command: SIGTERM, then SIGKILL after ``patience_s``; return its exit status."""
        deadline = time.monotonic() + patience_s
        for number in (signal.SIGTERM, signal.SIGKILL):
            while self.poll() is None:
                try:
                    os.kill(self.pid, number)
                except ProcessLookupError:
                    break
                if time.monotonic() > deadline:
                    break
                time.sleep(0.02)
        while (status := self.poll()) is None:
            time.sleep(0.02)
        return status
