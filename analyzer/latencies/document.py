"""The door to what programs wrote: their text without a byte order mark, their JSON without what
is printed around it.

Windows' PowerShell writes UTF-16, and editors a mark before UTF-8. Shells trace commands into the
same file, programs append messages, a loop appends one run to another.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.text import truncated

HEAD_BYTES = 4096
"""Bytes at the start of a file that are used to recognize its format."""

NUMBERED = re.compile(r"\s*[\d.]+[%\s]")
"""How rows of percentiles begin."""

_SHOWN_CHARS = 40

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def plain(data: bytes) -> bytes:
    """Return text, or its beginning, as UTF-8 without a mark."""
    for mark, name in _WIDE.items():
        if data.startswith(mark):
            wide = data.removeprefix(mark)
            return wide[: len(wide) // 2 * 2].decode(name, errors="replace").encode()
    return data.removeprefix(codecs.BOM_UTF8)


def check_narrow(path: Path) -> None:
    """Raise LatencyError for UTF-16: what is read in pieces, or by DuckDB, is not converted."""
    with path.open("rb") as file:
        if file.read(len(codecs.BOM_UTF16)) in _WIDE:
            raise LatencyError(f"{path} is UTF-16: convert it, `iconv -f UTF-16 -t UTF-8`.")


def unmarked(data: bytes) -> bytes:
    """Return the beginning of lines with blanks for a mark, so that offsets stay."""
    mark = codecs.BOM_UTF8
    return b" " * len(mark) + data.removeprefix(mark) if data.startswith(mark) else data


def head_of(path: Path) -> bytes:
    """Return the beginning of a file."""
    with path.open("rb") as file:
        return plain(file.read(HEAD_BYTES))


def first_line_of(path: Path) -> bytes:
    """Return the first line of a file, however long."""
    with path.open("rb") as file:
        return plain(file.readline())


def bytes_of(path: Path) -> bytes:
    """Return the whole of a file."""
    return plain(path.read_bytes())


def text_of(path: Path) -> str:
    """Return the whole of a file as text, with plain line ends; what is no UTF-8 is replaced."""
    return bytes_of(path).decode(errors="replace").replace("\r\n", "\n")


def check_last_line(path: Path, text: str) -> None:
    """Raise LatencyError if the last line of a text has no end: its last number may be cut."""
    if text and not text.endswith("\n"):
        raise LatencyError(
            f"{path} ends in the middle of a line: the program was killed or is still running; "
            "run it again."
        )


def rows_of_text(
    path: Path, lines: Iterable[str], row: re.Pattern[str], begins: re.Pattern[str]
) -> list[re.Match[str]]:
    """Return what matches *row*; raise LatencyError for a line that only *begins* like one."""
    found = []
    for line in lines:
        match = row.match(line)
        if match:
            found.append(match)
        elif begins.match(line):
            shown = truncated(line.strip(), _SHOWN_CHARS)
            raise LatencyError(f"{path} has a damaged line, {shown!r}: run the program again.")
    return found


def first_object(head: bytes) -> dict[str, Any]:
    """Return the object that the first line of a file holds; {} if it is none, or is cut off.

    Members by name, not text: a filter such as ``jq`` or a script writes them in another order.
    """
    try:
        value = json.loads(head.lstrip().partition(b"\n")[0])
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def check_one_run(path: Path, n_runs: int, program: str) -> None:
    """Raise LatencyError if a file has the output of several runs of a *program*."""
    if n_runs > 1:
        raise LatencyError(
            f"{path} has the output of {n_runs} runs of {program}: write each run to a file "
            "of its own."
        )


def json_of(path: Path, start: re.Pattern[bytes], program: str) -> Any:
    """Return the only JSON document that begins where *start* matches, whatever is around it.

    Raises ValueError if it is not whole, LatencyError if there are several.
    """
    data = bytes_of(path)
    begin = start.search(data)
    text = data[begin.start() if begin else 0 :].decode(errors="replace").lstrip()
    value, end = json.JSONDecoder().raw_decode(text)
    later = start.findall(text[end:].encode())
    check_one_run(path, 1 + len(later), program)
    return value
