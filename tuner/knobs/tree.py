"""The only door to a machine's knobs: files in sysfs and procfs, I/O priorities, mount options.

A place is the absolute path of a file, ``ioprio:TID`` or ``commit:MOUNTPOINT``. Tests lay out a
machine of files below another root than /.
"""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rcp.tuner.errors import KnobError, KnobGoneError, KnobRefusedError
from rcp.tuner.knobs import ioprio

Step = Callable[[str], None]
"""Called before and after each step with its description; tests kill the process there."""

# ENODEV and ENXIO come from a removed disk, ESRCH from an ended task.
_GONE_ERRNOS = (errno.ENOENT, errno.ENODEV, errno.ENXIO, errno.ESRCH)


def no_step(_what: str) -> None:
    """Do nothing."""


@dataclass(frozen=True)
class Write:
    """One write: *text* to *place*."""

    place: str
    text: str

    @property
    def line(self) -> str:
        """The write as a shell command."""
        scheme, _, rest = self.place.partition(":")
        if scheme == "ioprio":
            return ioprio.command(int(rest), self.text)
        if scheme == "commit":
            return f"mount -o remount,commit={self.text} {rest}"
        quote = "'" if " " in self.text else ""
        return f"echo {quote}{self.text}{quote} > {self.place}"


@dataclass(frozen=True)
class Tree:
    """The machine's files below *root*."""

    root: Path = Path("/")
    step: Step = no_step

    @property
    def real(self) -> bool:
        """Whether this is the running machine."""
        return self.root == Path("/")

    def path(self, place: str) -> Path:
        """Return the path of the file *place*."""
        return self.root / place.lstrip("/")

    def exists(self, place: str) -> bool:
        """Whether the file exists."""
        return self.path(place).exists()

    def writable(self, place: str) -> bool:
        """Whether the file exists and its owner may write it; read-only ones in sysfs are 0444."""
        try:
            return bool(self.path(place).stat().st_mode & stat.S_IWUSR)
        except OSError:
            return False

    def names(self, place: str) -> list[str]:
        """Return the sorted names in a folder; none if it does not exist."""
        try:
            return sorted(entry.name for entry in self.path(place).iterdir())
        except OSError:
            return []

    def read(self, place: str) -> str:
        """Return the text of a file without surrounding whitespace; raises KnobError."""
        try:
            return self.path(place).read_text().strip()
        except OSError as error:
            raise _typed(place, error, "cannot be read") from error

    def text(self, place: str) -> str:
        """Return the text of a file, "" if it cannot be read."""
        try:
            return self.read(place)
        except KnobError:
            return ""

    def write(self, write: Write) -> None:
        """Write a text to a place in one system call, as the kernel requires; raises KnobError."""
        self.step(f"before {write.line}")
        scheme, _, rest = write.place.partition(":")
        try:
            if scheme == "ioprio":
                ioprio.set_priority(int(rest), write.text)
            elif scheme == "commit":
                self._remount(rest, write.text)
            else:
                self.store(write.place, write.text)
        except OSError as error:
            raise _typed(write.place, error, f"refuses {write.text}") from error
        self.step(f"after {write.line}")

    def store(self, place: str, text: str) -> None:
        """Write to a file that exists; raises OSError."""
        handle = os.open(self.path(place), os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(handle, f"{text}\n".encode())
        finally:
            os.close(handle)

    def _remount(self, folder: str, seconds: str) -> None:
        if not self.real:
            raise KnobRefusedError(f"commit:{folder}: {self.root} is not a running machine.")
        command = ["mount", "-o", f"remount,commit={seconds}", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            reason = " ".join(done.stderr.split()) or f"mount ended with {done.returncode}"
            raise KnobRefusedError(f"{folder}: refuses commit={seconds}: {reason}.")

    def mounts(self, device: str) -> Iterator[tuple[str, str, str]]:
        """Yield (mount point, file system, its options) of the device MAJOR:MINOR."""
        for line in self.read("/proc/self/mountinfo").splitlines():
            words = line.split()
            kind, _source, options = words[words.index("-") + 1 :][:3]
            if words[2] == device:
                yield words[4], kind, options


def _typed(place: str, error: OSError, fault: str) -> KnobError:
    if error.errno in _GONE_ERRNOS:
        return KnobGoneError(f"{place}: gone with its disk, scheduler or task.")
    if isinstance(error, PermissionError):
        return KnobError(f"{place}: permission denied: try with sudo.")
    reason = error.strerror or "unknown error"
    return KnobRefusedError(f"{place}: {fault}: {reason}.")
