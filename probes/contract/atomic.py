"""Replaces a file so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""What a write to an open file fails with; Python then names no file."""


@contextmanager
def atomic_replace(target: Path, *, sync: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside *target*; rename it to *target* when the block ends well.

    The block creates the file. After an exception *target* is as it was and the temporary is gone.
    With *sync* the content is on disk before the rename, so that after a power loss *target* is
    never empty. Raises OSError when the file cannot be synced or renamed. An error of writing to it
    names *target*.
    """
    # Same folder, so same file system: only there is a rename atomic. With the pid, so that two
    # processes do not write into one temporary.
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        yield temporary
        if sync:
            _sync(temporary)
        temporary.replace(target)
    except OSError as error:
        if error.filename == str(temporary):
            error.filename = str(target)  # the name that the user knows
        elif error.filename is None and error.errno in UNWRITABLE:
            # A library may have words of its own (pyarrow has).
            error.filename, error.strerror = str(target), os.strerror(error.errno)
        raise
    finally:
        # In a folder that became read-only this fails too, and would hide the error that tells.
        with suppress(OSError):
            temporary.unlink()


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
