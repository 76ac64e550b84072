"""Command lines of processes, as far as a recording may tell them.

A recording is made to be shown to others, and people put passwords on command lines. What looks
like one is left out, or with ``--cmdline name`` all but the program's name is. Role rules look
at the whole line, here and now.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import click
import numpy as np
import numpy.typing as npt

Command = TypeVar("Command", bound=Callable[..., Any])

FULL, NAME = "full", "name"
HIDDEN = "***"
_MAX = 200  # characters: the program and what it is about; not a whole class path

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

# Programs with a short option for it, and whether it may be an argument of its own.
_SHORT = (
    ("mysql*", "-p", False),
    ("mariadb*", "-p", False),
    ("mongo*", "-p", True),
    ("redis-cli", "-a", True),
    ("valkey-cli", "-a", True),
    ("sshpass", "-p", True),
    ("curl", "-u", True),
)


def cmdline_option(command: Command) -> Command:
    """Give a command ``--cmdline``."""
    return click.option(
        "--cmdline",
        type=click.Choice([FULL, NAME]),
        default=FULL,
        show_default=True,
        help="What to keep of command lines: all but what looks like a password, or the "
        "program's name.",
    )(command)


def _short_options(program: str) -> list[tuple[str, bool]]:
    name = program.rpartition("/")[2]
    return [(option, apart) for glob, option, apart in _SHORT if fnmatchcase(name, glob)]


def redacted(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command with what looks like a secret replaced."""
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
        if len(arguments) > 1:  # else it may be a title, which has its options in one piece
            argument = _WHOLE.sub(_hidden_rest, argument)
        shown.append(_without_secrets(argument))
    return shown


def _without_secrets(text: str) -> str:
    for pattern, end in _PATTERNS:
        text = pattern.sub(partial(_hidden_rest, end=end), text)
    return text


def _hidden_rest(found: re.Match[str], end: str = "") -> str:
    """Hide what comes after the name, unless it names a file: what is in that is not told."""
    name = found.group(1)
    return found.group(0) if _PLACE.search(name.rstrip(" =:\t")) else f"{name}{HIDDEN}{end}"


def told(arguments: Sequence[str], how: str) -> list[str]:
    """Return what a recording may tell of a command: ``FULL`` without secrets, or its ``NAME``."""
    if how == FULL:
        return redacted(arguments)
    # Servers write what they do over their name: "postgres: joe shop SELECT".
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
    """Return what may be told of the command line of every process but this one, by pid.

    It is what ``ps`` shows: many servers write over it what a process does. Long ones are cut.
    """
    return {str(pid): " ".join(told(words, how))[:_MAX] for pid, words in _running()}


def pids_of(wanted: re.Pattern[str]) -> list[int]:
    """Return the processes whose whole command line matches."""
    return sorted(pid for pid, words in _running() if wanted.search(" ".join(words)))


def arguments_in(memory: bytes, arg_bytes: int) -> list[str]:
    """Return the arguments in the beginning of a process's memory for them, ``arg_bytes`` long.

    A server that wrote over them and their last NUL means the text up to the next one (kernel:
    fs/proc/base.c, get_mm_cmdline).
    """
    is_title = 0 < arg_bytes <= len(memory) and memory[arg_bytes - 1] != 0
    raw = memory.partition(b"\0")[0] if is_title else memory[:arg_bytes]
    words = raw.rstrip(b"\0 ").decode(errors="replace").split("\0")
    return words if words != [""] else []


def told_at_exit(rows: npt.NDArray[np.void], how: str) -> npt.NDArray[np.void]:
    """Return CMDLINE records with what may be told for their text."""
    told_rows = rows.copy()
    size = rows.dtype["text"].itemsize
    for row in told_rows:
        words = arguments_in(row["text"].ljust(size, b"\0"), int(row["arg_bytes"]))
        row["text"] = " ".join(told(words, how)).encode()[:size]
    return told_rows
