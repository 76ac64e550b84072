"""Running a program that ends when this one does: interrupted, terminated, even killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import IO, NoReturn

GRACE_S = 10.0
"""What a program has after SIGTERM: rcp-lab ends its emulator and removes gigabytes of files."""

_ENDING = (signal.SIGTERM, signal.SIGHUP)


def run_child(
    words: Sequence[str],
    *,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
    env: Mapping[str, str] | None = None,
    timeout_s: float | None = None,
) -> int:
    """Run *words* to their end and return the exit status, negative for a signal.

    Raises subprocess.TimeoutExpired after *timeout_s*. However this is left, the program has
    ended before, with all of its process group; SIGTERM and SIGHUP leave it as SystemExit.
    """
    with _raised():
        # A session of its own: Ctrl-C reaches this program only, which ends the other in order.
        process = subprocess.Popen(
            _with_parent(words), stdout=stdout, stderr=stderr, env=env, start_new_session=True
        )
        try:
            return process.wait(timeout_s)
        except BaseException:
            _end(process)
            raise


def _with_parent(words: Sequence[str]) -> list[str]:
    # Nobody is left to end it when this program is killed.
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig=TERM", *words] if setpriv else list(words)


def _end(process: subprocess.Popen[bytes]) -> None:
    try:
        _signal(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_S)
    finally:
        _signal(process.pid, signal.SIGKILL)
        process.wait()


def _signal(group: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, number)


@contextmanager
def _raised() -> Iterator[None]:
    """Let what would end this program at once raise, as SIGINT does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # What nohup ignores stays ignored; a handler that is there already raises in its own way.
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    # The first is enough: a second one would break off the ending.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)
