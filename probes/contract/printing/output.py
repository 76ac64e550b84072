"""The door to stdout and stderr for text: what leaves here gives a terminal no orders.

For people: ``print_text``, ``print_note``, ``print_progress``, ``redraw``. For programs:
``print_data``, ``print_json``.
"""

from __future__ import annotations

import os
import re
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click

from rcp.probes.contract.printing import terminal
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.marked import coloured, is_mark, n_columns, without_marks
from rcp.probes.contract.printing.page import Page, page
from rcp.probes.contract.printing.spelled import spelled_text

_LAYOUT = "\n"
_DATA_LAYOUT = "\n\t"


def _safe(text: str, *, is_coloured: bool) -> str:
    """Return a text whose only controls are newlines and the colours of its own marks."""
    marks = "".join(filter(is_mark, set(text)))
    spelled = spelled_text(text, _LAYOUT + marks)
    return coloured(spelled) if is_coloured else without_marks(spelled)


@contextmanager
def read_or_not(stream: Literal["stdout", "stderr"] = "stdout") -> Iterator[None]:
    """Go on where nobody reads *stream* any more: what follows may be a verdict."""
    try:
        yield
    except BrokenPipeError:
        setattr(sys, stream, Path(os.devnull).open("w"))  # noqa: SIM115


def print_text(text: str) -> None:
    """Print text for people; it ends in a newline whether *text* does or not.

    Lines that are longer than the terminal is wide continue under their own text. What is longer
    than the screen goes through a pager.
    """
    text = _within(page(), text.removesuffix("\n"))
    safe = _safe(text, is_coloured=terminal.is_coloured())
    words = terminal.pager(safe.count("\n") + 1)
    if words:
        terminal.run_pager(words, f"{safe}\n")
    else:
        click.echo(safe, color=True)  # else click takes the colours out that were asked for


_GAP = re.compile(r" {2,}")
_HANGING_MAX = 30


def _within(page: Page, text: str) -> str:
    """Wrap lines that nobody laid out for the page."""
    if page.table is None:
        return text
    lines: list[str] = []
    for line in text.split("\n"):
        lines += [line] if n_columns(line) <= page.table else _wrapped(line, page.table)
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    body = line.lstrip(" ")
    indent = len(line) - len(body)
    columns = [gap.end() for gap in _GAP.finditer(body) if indent + gap.end() < _HANGING_MAX]
    hanging = indent + columns[-1] if columns else indent + 2
    head = line[:hanging] if columns else " " * indent
    return textwrap.wrap(
        line[len(head) :],
        width,
        initial_indent=head,
        subsequent_indent=" " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [line]


def print_note(text: str) -> None:
    """Print a message on stderr."""
    _say(spelled_text(text, _LAYOUT) + "\n")


def print_progress(text: str) -> None:
    """Rewrite the line on stderr, which must be a terminal; "" ends it."""
    _say(f"\r{spelled_text(text)}  " if text else "\n")


def _say(text: str) -> None:
    """Write to stderr; where nobody reads that any more, the work goes on without a word."""
    with read_or_not("stderr"):
        click.echo(text, nl=False, err=True)


def redraw(text: str) -> None:
    """Show text in place of what is on the terminal; elsewhere after what came before."""
    if sys.stdout.isatty():
        click.clear()
    else:
        text += "\n"
    click.echo(_safe(text, is_coloured=terminal.is_coloured()), nl=False, color=True)
    sys.stdout.flush()


def print_data(text: str) -> None:
    """Print what programs read: into a file or a pipe byte by byte, spelled on a terminal."""
    sys.stdout.flush()
    if sys.stdout.isatty():
        text = spelled_text(text, _DATA_LAYOUT)
    # Not click.echo, which takes escape sequences out of what goes to a pipe.
    sys.stdout.buffer.write(text.encode("utf-8", "surrogateescape"))
    sys.stdout.buffer.flush()


def print_json(value: Any) -> None:
    """Print a value as indented JSON."""
    print_data(as_json(value))
