"""Whether a command can be started, said before anything else is done."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from rcp.tuner.trials.source import OUT_PLACEHOLDER
from rcp.tuner.trials.workload import WorkloadError, shown

_SHEBANG_BYTES = 256
"""As many as the kernel reads (BINPRM_BUF_SIZE)."""


def check_command(command: Sequence[str]) -> None:
    """Raise WorkloadError unless the program of *command* and its interpreter can be started."""
    program = command[0] if command else ""
    if OUT_PLACEHOLDER in program:
        return  # made by a trial
    fault = _fault(program)
    if fault:
        raise WorkloadError(f"{shown(command)} cannot be started: {fault}.")


def _fault(program: str) -> str:
    """Return the fault of a program and the remedy, "" if it can be started."""
    if "/" not in program:
        found = shutil.which(program)
        if found is not None:
            return _of_interpreter(found)
        if Path(program).is_file():
            return f"{program!r} is not in the PATH: write ./{program}"
        return f"{program!r} is not in the PATH: check its name, or write its path"
    path = Path(program)
    if not path.exists():
        return f"{program} does not exist: check its path"
    if path.is_dir():
        return f"{program} is a folder: name a program in it"
    if not os.access(path, os.X_OK):
        return f"{program} is not executable: run chmod +x {program}"
    return _of_interpreter(program)


def _of_interpreter(path: str) -> str:
    """Return what is wrong with the first line of a script."""
    try:
        with Path(path).open("rb") as file:
            head = file.read(_SHEBANG_BYTES)
    except OSError:
        return ""  # executable, but not for reading
    if not head.startswith(b"#!"):
        return ""
    # Only the line's end is cut off: a script from Windows asks for an interpreter with a "\r".
    words = head[2:].partition(b"\n")[0].decode(errors="replace").strip(" \t").split(" ")
    interpreter = words[0]
    if not Path(interpreter).exists():
        return f"there is no {interpreter!r}, which its first line names: correct that line"
    named = words[1] if len(words) > 1 else ""
    is_env = Path(interpreter).name == "env" and named and named[0] != "-" and "=" not in named
    if is_env and shutil.which(named) is None:
        return f"{named!r}, which its first line names, is not in the PATH: install it"
    return ""
