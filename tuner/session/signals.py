"""SIGINT, SIGTERM and SIGHUP end the tuner, but never between a journal record and its write."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Signals:
    """Turns signals into exceptions, after the block when inside ``deferred``."""

    def __init__(self) -> None:
        self._before: dict[signal.Signals, Any] = {}
        self._n_deferring = 0
        self._pending: signal.Signals | None = None

    def install(self) -> None:
        """Install the handlers; a no-op outside the main thread, which gets every signal."""
        if threading.current_thread() is threading.main_thread():
            # What nohup ignores stays ignored.
            ours = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
            self._before = {number: signal.signal(number, self._on_signal) for number in ours}

    def remove(self) -> None:
        """Restore the handlers that were there before."""
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _on_signal(self, number: int, _frame: FrameType | None) -> None:
        self._pending = signal.Signals(number)
        if not self._n_deferring:
            self._raise()

    def _raise(self) -> None:
        number, self._pending = self._pending, None
        if number is signal.SIGINT:
            raise KeyboardInterrupt
        if number is not None:
            raise SystemExit(128 + number)

    @contextmanager
    def deferred(self) -> Iterator[None]:
        """Delay signals until the end of the block."""
        self._n_deferring += 1
        try:
            yield
        finally:
            self._n_deferring -= 1
        if not self._n_deferring:
            self._raise()
