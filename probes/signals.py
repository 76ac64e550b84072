"""Waiting for a time or a signal, whichever comes first."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from contextlib import contextmanager

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Remembers the first signal that ends the recording, and others asked for."""

    def __init__(self, usr1: bool = False, hup: bool = False) -> None:
        """Start with no signal received; handlers are installed by ``caught``.

        Without ``usr1``, SIGUSR1 keeps its default action: it terminates the program. Without
        ``hup``, SIGHUP ends the recording.
        """
        self.received: signal.Signals | None = None
        self._noted = {
            **({signal.SIGUSR1: False} if usr1 else {}),
            **({signal.SIGHUP: False} if hup else {}),
        }
        self._ending = tuple(number for number in _ENDING if number not in self._noted)
        self._wake_end, self._signal_end = os.pipe()
        os.set_blocking(self._wake_end, False)
        os.set_blocking(self._signal_end, False)

    def _handle(self, number: int, _frame: object) -> None:
        if number in self._ending:
            self.received = self.received or signal.Signals(number)
        if number in self._noted:
            self._noted[signal.Signals(number)] = True

    def take_usr1(self) -> bool:
        """Return whether SIGUSR1 arrived since the last call."""
        return self._take(signal.SIGUSR1)

    def take_hup(self) -> bool:
        """Return whether SIGHUP arrived since the last call."""
        return self._take(signal.SIGHUP)

    def _take(self, number: signal.Signals) -> bool:
        received = self._noted.get(number, False)
        if received:
            self._noted[number] = False
        return received

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Catch the signals that end a recording, and SIGCHLD; restore the handlers afterwards."""
        numbers = (*self._ending, *self._noted, signal.SIGCHLD)
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
