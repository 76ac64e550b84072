"""Waiting for a time or a signal, whichever comes first."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Remembers the first signal that ends the recording, and SIGUSR1."""

    def __init__(self, usr1: bool = False) -> None:
        """Start with no signal received; handlers are installed by ``caught``.

        Without ``usr1``, SIGUSR1 keeps its default action: it terminates the program.
        """
        self.received: signal.Signals | None = None
        self._usr1 = (signal.SIGUSR1,) if usr1 else ()
        self._usr1_received = False
        self._wake_end, self._signal_end = os.pipe()
        os.set_blocking(self._wake_end, False)
        os.set_blocking(self._signal_end, False)

    def _handle(self, number: int, _frame: object) -> None:
        if number in _ENDING:
            self.received = self.received or signal.Signals(number)
        if number in self._usr1:
            self._usr1_received = True

    def take_usr1(self) -> bool:
        """Return whether SIGUSR1 arrived since the last call."""
        received, self._usr1_received = self._usr1_received, False
        return received

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals that end a recording, and SIGCHLD; restore the handlers afterwards."""
        numbers = (*_ENDING, *self._usr1, signal.SIGCHLD)
        before = {number: signal.signal(number, self._handle) for number in numbers}
        old_wakeup_fd = signal.set_wakeup_fd(self._signal_end, warn_on_full_buffer=False)
        try:
            yield
        finally:
            signal.set_wakeup_fd(old_wakeup_fd)
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self._wake_end)
            os.close(self._signal_end)

    def wait(self, seconds: float) -> None:
        """Sleep; return early when a signal arrives or a child exits."""
        if select.select([self._wake_end], [], [], seconds)[0]:
            os.read(self._wake_end, 4096)
