"""Replaces a file so that a reader sees the old content or the new, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic_replace(target: Path, *, sync: bool = False) -> Iterator[Path]:
    """Yield a temporary path beside *target*; rename it to *target* when the block ends well.

    The block creates the file. After an exception *target* is as it was and the temporary is gone.
    With *sync* the content is on disk before the rename, so that after a power loss *target* is
    never empty. Raises OSError when the file cannot be synced or renamed.
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
        raise
    finally:
        temporary.unlink(missing_ok=True)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
