"""Command lines of processes, without secrets.

Recordings are shown to others, and command lines may hold passwords. What looks like a secret is
replaced; ``--cmdline name`` stores only the program's name. Role rules match the whole line, while
recording.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.options import FULL

HIDDEN = "***"
_MAX = 200  # characters: enough for program and main arguments, not for a Java class path

_SECRET = (
    r"[\w.-]*(?:password|passwd|passphrase|\bpass\b|pwd|secret|token|credential"
    r"|(?:api|access|private|auth)[-_.]?key)[\w.-]*"
)
_VALUE = r"""(?:'[^']*'|"[^"]*"|[^\s&;,'"]+)"""
_PLACE = re.compile(r"[-_.](?:file|path|dir)$", re.IGNORECASE)
_OPTION = re.compile(rf"-{{1,2}}{_SECRET}", re.IGNORECASE)
_WHOLE = re.compile(rf"(-{{1,2}}{_SECRET}=).*", re.IGNORECASE | re.DOTALL)
_PATTERNS = (
    (re.compile(rf"({_SECRET}\s?[=:]\s?){_VALUE}", re.IGNORECASE), ""),
    (re.compile(rf"(?<!\S)(-{{1,2}}{_SECRET}\s+)(?!-){_VALUE}", re.IGNORECASE), ""),
    (re.compile(r"(authorization:\s*(?:\w+\s+)?)\S+", re.IGNORECASE), ""),
    (re.compile(r"([a-z][\w+.-]*://[^\s/:@]*:)[^\s@]+@", re.IGNORECASE), "@"),
)

# Programs with a short option for a password, and whether its value may be a separate argument.
_SHORT_PASSWORD_OPTIONS = (
    ("mysql*", "-p", False),
    ("mariadb*", "-p", False),
    ("mongo*", "-p", True),
    ("redis-cli", "-a", True),
    ("valkey-cli", "-a", True),
    ("sshpass", "-p", True),
    ("curl", "-u", True),
)


def _short_options(program: str) -> list[tuple[str, bool]]:
    name = program.rpartition("/")[2]
    return [
        (option, apart)
        for glob, option, apart in _SHORT_PASSWORD_OPTIONS
        if fnmatchcase(name, glob)
    ]


def redacted(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with likely secrets replaced."""
    shown: list[str] = []
    short = _short_options(arguments[0]) if arguments else []
    hide_next = False
    for argument in arguments:
        if hide_next and not argument.startswith("-"):
            shown.append(HIDDEN)
            hide_next = False
            continue
        hide_next = bool(_OPTION.fullmatch(argument)) and not _PLACE.search(argument)
        for option, apart in short:
            if argument == option:
                hide_next = apart
            elif argument.startswith(option):
                argument = option + HIDDEN
        if len(arguments) > 1:  # else it may be a title, which is one piece with its options
            argument = _WHOLE.sub(_hidden_rest, argument)
        shown.append(_without_secrets(argument))
    return shown


def _without_secrets(text: str) -> str:
    for pattern, end in _PATTERNS:
        text = pattern.sub(partial(_hidden_rest, end=end), text)
    return text


def _hidden_rest(found: re.Match[str], end: str = "") -> str:
    """Hide the value after the name, unless that is the path of a file."""
    name = found.group(1)
    return found.group(0) if _PLACE.search(name.rstrip(" =:\t")) else f"{name}{HIDDEN}{end}"


def arguments_to_store(arguments: Sequence[str], how: str) -> list[str]:
    """Return the arguments without secrets (``FULL``), or only the program's name (``NAME``)."""
    if how == FULL:
        return redacted(arguments)
    # Servers overwrite their name with a title: "postgres: joe shop SELECT".
    return [word for argument in arguments[:1] for word in argument.split()[:1]]


def _running() -> Iterator[tuple[int, list[str]]]:
    """Yield the arguments of every process but this one, by pid; kernel threads have none."""
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            raw = (entry / "cmdline").read_bytes()
        except OSError:  # it ended meanwhile
            continue
        arguments = raw.rstrip(b"\0 ").decode(errors="replace").split("\0")
        if arguments != [""]:
            yield int(entry.name), arguments


def cmdlines(how: str = FULL) -> dict[str, str]:
    """Return the command line, without secrets, of every process but this one, by pid.

    These are as ``ps`` shows them: many servers overwrite theirs with a title. Long ones are cut.
    """
    return {str(pid): " ".join(arguments_to_store(words, how))[:_MAX] for pid, words in _running()}


def pids_of(wanted: re.Pattern[str]) -> list[int]:
    """Return the pids of processes whose whole command line matches."""
    return sorted(pid for pid, words in _running() if wanted.search(" ".join(words)))


def arguments_in(memory: bytes, arg_bytes: int) -> list[str]:
    """Return the arguments at the start of ``memory``; the process's are ``arg_bytes`` long.

    A server's title overwrites them and their last NUL: it ends at the next NUL (kernel:
    fs/proc/base.c, get_mm_cmdline).
    """
    is_title = 0 < arg_bytes <= len(memory) and memory[arg_bytes - 1] != 0
    raw = memory.partition(b"\0")[0] if is_title else memory[:arg_bytes]
    words = raw.rstrip(b"\0 ").decode(errors="replace").split("\0")
    return words if words != [""] else []


def cmdlines_to_store(rows: npt.NDArray[np.void], how: str) -> npt.NDArray[np.void]:
    """Return CMDLINE records with their text reduced as ``how`` says."""
    stored = rows.copy()
    size = rows.dtype["text"].itemsize
    for row in stored:
        words = arguments_in(row["text"].ljust(size, b"\0"), int(row["arg_bytes"]))
        row["text"] = " ".join(arguments_to_store(words, how)).encode()[:size]
    return stored
