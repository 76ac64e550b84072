"""Who has the file of a study open: one tuner to write it, and between its writes anybody to read.

DuckDB lets nobody read a file that somebody has open to write, and a tuning takes hours: so the
tuner closes it while a trial runs. Who tunes with it is told by a lock of our own meanwhile.
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
"""How long a reader waits for a writer: a model thinks for a second or two between trials."""

_POLL_S = 0.05


def lock(path: Path) -> int:
    """Return a handle that keeps other tuners off the study until it is closed.

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
            f"{path}: another rcp-tune is at work on it: wait until it ends, or end it"
        ) from error
    return handle


def opened_to_read(path: Path, not_ours: str, patience_s: float | None) -> Store:
    """Open a study to read, and wait so long for a writer; raises StoreError."""
    end = time.monotonic() + (PATIENCE_S if patience_s is None else patience_s)
    while time.monotonic() < end:
        with suppress(StoreBusyError):
            return open_other(path, not_ours, read_only=True)
        time.sleep(_POLL_S)
    return open_other(path, not_ours, read_only=True)


def opened_again(path: Path, say: Callable[[str], None]) -> Store:
    """Open a study to write, once nobody reads it any more: no trial is lost to a reader."""
    told_s = time.monotonic() + PATIENCE_S
    while True:
        if not path.exists():
            raise TuneError(f"{path} is gone: somebody removed it while a trial ran")
        try:
            return open_other(path, f"{path} is no study any more", read_only=False)
        except StoreBusyError:
            pass
        except StoreError as error:
            raise TuneError(str(error)) from error
        if time.monotonic() >= told_s:
            say(f"{path} is open in another program: waiting until that closes it")
            told_s = float("inf")
        time.sleep(_POLL_S)
