"""Run a program that ends with this one, even if this one is interrupted or killed."""

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
"""Time from SIGTERM to SIGKILL: rcp-lab ends its emulator and removes gigabytes of files."""

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

    Raises subprocess.TimeoutExpired after *timeout_s*. On return and on every exception, the
    program and its whole process group have ended. SIGTERM and SIGHUP raise SystemExit.
    """
    with _signals_as_exceptions():
        # A session of its own: Ctrl-C reaches only this program, which then ends the child cleanly.
        process = subprocess.Popen(
            _with_parent(words), stdout=stdout, stderr=stderr, env=env, start_new_session=True
        )
        try:
            return process.wait(timeout_s)
        except BaseException:
            _end(process)
            raise


def _with_parent(words: Sequence[str]) -> list[str]:
    # If this program gets SIGKILL, the kernel has to end the child.
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
def _signals_as_exceptions() -> Iterator[None]:
    """Turn signals that would end this program into exceptions, as Python does for SIGINT."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    # A signal that nohup ignores stays ignored; an existing handler stays in place.
    ours = [number for number in _ENDING if signal.getsignal(number) is signal.SIG_DFL]
    for number in ours:
        signal.signal(number, _raise)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, signal.SIG_DFL)


def _raise(number: int, _frame: FrameType | None) -> NoReturn:
    # A second signal would interrupt the cleanup.
    signal.signal(number, signal.SIG_IGN)
    raise SystemExit(128 + number)
