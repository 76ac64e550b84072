"""Locks on the file of a study: one tuner at a time, and readers between its writes.

DuckDB allows no reader while a writer has the file open, and a tuning takes hours. The tuner
therefore closes the file during each trial, and holds a lock of its own against other tuners.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from rcp.analyzer.db.store import Store, StoreBusyError, StoreError, open_other
from rcp.tuner.errors import LockedError, TuneError

PATIENCE_S = 5.0
"""Time that a reader waits for a writer: a model takes a second or two between trials."""

_POLL_S = 0.05


def lock(path: Path) -> int:
    """Return a file descriptor that locks the study against other tuners until it is closed.

    Raises LockedError, and TuneError for a file that cannot be written. It must outlive each
    store opened at *path*: closing any handle of a file drops DuckDB's own lock on it.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError as error:
        raise TuneError(f"{path}: {error.strerror}: name another study with --study") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(handle)
        raise LockedError(
            f"{path}: another rcp-tune is using it: wait until it ends, or stop it"
        ) from error
    return handle


def open_for_reading(path: Path, not_ours: str, patience_s: float | None) -> Store:
    """Open a study to read; waits up to *patience_s* for a writer. Raises StoreError."""
    end = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
    while time.monotonic() < end:
        with suppress(StoreBusyError):
            return open_other(path, not_ours, read_only=True)
        time.sleep(_POLL_S)
    return open_other(path, not_ours, read_only=True)


def reopen_for_writing(path: Path, say: Callable[[str], None]) -> Store:
    """Open a study to write after the last reader has closed it; raises TuneError."""
    warn_at_s = time.monotonic() + PATIENCE_S
    while True:
        if not path.exists():
            raise TuneError(
                f"{path} was removed while a trial ran: restore the file, or start a new study"
            )
        try:
            return open_other(path, f"{path} is not a study any more", read_only=False)
        except StoreBusyError:
            pass
        except StoreError as error:
            raise TuneError(str(error)) from error
        if time.monotonic() >= warn_at_s:
            say(f"{path} is open in another program: waiting until it is closed")
            warn_at_s = float("inf")
        time.sleep(_POLL_S)
