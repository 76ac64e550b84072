"""The build cache, outside the checkout: one folder (entry) per set of inputs.

An entry is built under a temporary name and renamed when complete, so a folder with an entry's
name is always complete. A lock file per entry makes a second builder wait instead of building
again.
"""

import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rcp.lab.errors import LabError

# Part of every key: raise it when the layout of an entry changes.
FORMAT = 1


def root() -> Path:
    """Return the lab's cache folder: below $RCP_CACHE, else $XDG_CACHE_HOME/rcp or ~/.cache/rcp."""
    own = os.environ.get("RCP_CACHE")
    if own:
        return Path(own) / "lab"
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "rcp" / "lab"


def key(parts: Mapping[str, bytes]) -> str:
    """Return 16 hex digits that change whenever a name or a content in *parts* changes."""
    digest = hashlib.sha256(f"format {FORMAT}\n".encode())
    for name in sorted(parts):
        # The length keeps ("a", "bc") and ("ab", "c") apart.
        digest.update(f"{name}\0{len(parts[name])}\0".encode())
        digest.update(parts[name])
    return digest.hexdigest()[:16]


@contextmanager
def _lock(path: Path, waiting: Callable[[], None]) -> Iterator[None]:
    with path.open("a") as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def find(name: str) -> Path | None:
    """Return the complete entry *name*, or None."""
    path = root() / name
    return path if path.is_dir() else None


def _replace(entry: Path, complete: Path) -> None:
    # A guest that runs from the old entry keeps the files that it has open.
    old = complete.with_suffix(".old.tmp")
    if entry.exists():
        entry.rename(old)
    complete.rename(entry)
    shutil.rmtree(old, ignore_errors=True)


def build_once(
    name: str,
    build: Callable[[Path], None],
    waiting: Callable[[], None] = lambda: None,
    anew: bool = False,
) -> Path:
    """Return the entry *name*; if it is missing, or wanted *anew*, fill it with *build*.

    *build* gets an empty folder; if it raises, that is removed and an old entry stays. *waiting* is
    called if another process is building the same entry. Raises LabError if the folder cannot be
    written.
    """
    found = find(name)
    if found and not anew:
        return found
    try:
        root().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LabError(
            f"cache folder {root()}: {error.strerror}: set RCP_CACHE to a writable folder"
        ) from error
    with _lock(root() / f"{name}.lock", waiting):
        found = find(name)
        if found and not anew:
            return found
        temporary = Path(tempfile.mkdtemp(prefix=f".{name}.", suffix=".tmp", dir=root()))
        # mkdtemp creates it with mode 0700, but mmdebstrap's unprivileged user must enter it.
        temporary.chmod(0o755)
        try:
            build(temporary)
            _replace(root() / name, temporary)
        except OSError as error:
            raise LabError(
                f"cache folder {root()}: {error.strerror or error}: free some space or set "
                "RCP_CACHE to a folder on another disk"
            ) from error
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return root() / name


def _size_bytes(path: Path) -> int:
    files = [path] if path.is_file() else [p for p in path.rglob("*") if not p.is_symlink()]
    return sum(p.lstat().st_blocks * 512 for p in files)


@contextmanager
def locked(name: str, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock *name*, which starts with an entry's name; *waiting* is as in build_once()."""
    with _lock(root() / f"{name}.lock", waiting):
        yield


def _is_busy(name: str) -> bool:
    # A locked file means that another process is building the entry now.
    for path in root().glob(f"{name}*.lock"):
        with path.open("a") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    return False


def _entry_name(path: Path) -> str:
    # ".rootfs-1234.abcd.tmp" and "rootfs-1234.lock" both belong to entry "rootfs-1234".
    return path.name.lstrip(".").split(".")[0]


def remove(keep: frozenset[str]) -> list[tuple[str, int]]:
    """Delete all entries and leftovers except those in *keep*; return (name, bytes freed) of each.

    Entries that another process is building are not deleted. A running guest keeps the files that
    it has open.
    """
    if not root().is_dir():
        return []
    freed = []
    for path in sorted(root().iterdir()):
        if _entry_name(path) in keep or _is_busy(_entry_name(path)):
            continue
        size = _size_bytes(path)
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
        freed.append((path.name, size))
    return freed
