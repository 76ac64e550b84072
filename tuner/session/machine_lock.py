"""The lock that allows one tuner at a time."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from rcp.tuner.errors import JournalError, LockedError


class MachineLock:
    """One tuner per journal folder, hence per machine; released when the process ends."""

    def __init__(self, folder: Path) -> None:
        path = folder / "lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise JournalError(
                f"{folder}: cannot hold the journal: {error.strerror}: "
                "try with sudo, or name another folder with --journal."
            ) from error
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            pid = os.pread(self._handle, 20, 0).decode(errors="replace").strip() or "unknown"
            os.close(self._handle)
            raise LockedError(
                f"{path}: another rcp-tune (pid {pid}) is running: wait until it ends, or stop it."
            ) from error
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Release the lock."""
        os.close(self._handle)
