"""What systemd is told: ready, reloading, stopping, alive (sd_notify(3)). Silent elsewhere.

The protocol is one datagram of NAME=VALUE lines to the socket that $NOTIFY_SOCKET names.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping


class Service:
    """Tells the service manager about this process; without one it does nothing."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        clock_ns: Callable[[], int] = time.monotonic_ns,
    ) -> None:
        """Read from *environ* where to tell it, and how often it wants to hear from us."""
        self._clock_ns = clock_ns
        where = environ.get("NOTIFY_SOCKET", "")
        # A leading @ stands for the 0 byte of an abstract name.
        self._where = "\0" + where[1:] if where.startswith("@") else where
        watchdog_us = environ.get("WATCHDOG_USEC", "0")
        is_ours = environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        limit_ns = int(watchdog_us) * 1000 if watchdog_us.isdigit() and is_ours else 0
        # Half of the limit, as sd_watchdog_enabled(3) recommends.
        self._alive_every_ns = limit_ns // 2
        self._alive_ns = 0

    @property
    def alive_every_s(self) -> float | None:
        """Seconds between two signs of life at most; None if nobody asks for them."""
        return self._alive_every_ns / 1e9 or None

    def ready(self, status: str) -> None:
        """Say that recording has begun."""
        self._tell("READY=1", f"STATUS={status}")

    def status(self, text: str) -> None:
        """Show a line in ``systemctl status``."""
        self._tell(f"STATUS={text}")

    def reloading(self) -> None:
        """Say that the configuration is read again; ``ready`` ends it."""
        self._tell("RELOADING=1", f"MONOTONIC_USEC={self._clock_ns() // 1000}")

    def stopping(self) -> None:
        """Say that the end was asked for."""
        self._tell("STOPPING=1")

    def alive(self) -> None:
        """Give a sign of life, if one is due. Only the loop that records may call it."""
        now_ns = self._clock_ns()
        if self._alive_every_ns and now_ns - self._alive_ns >= self._alive_every_ns // 2:
            self._alive_ns = now_ns
            self._tell("WATCHDOG=1")

    def _tell(self, *lines: str) -> None:
        if not self._where:
            return
        text = "\n".join(" ".join(line.split()) for line in lines)
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as out:
                out.connect(self._where)
                out.sendall(text.encode())
        except OSError:
            return  # a manager that is gone is no reason to stop recording
