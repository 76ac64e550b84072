"""What leaves for a terminal, and what for a pipe: pager, colours, layout. With a real terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

PRINT = """
import sys
from rcp.probes.contract.options import format_option
from rcp.probes.contract.printing.marked import marked
from rcp.probes.contract.printing.output import print_data, print_text
import click

@click.command()
@format_option("text", "json")
def main(kind):
    text = "\\n".join([marked("answer", "answer"), *(f"line {n}" for n in range(20))])
    print_text(text) if kind == "text" else print_data("esc \\x1b[31m bell \\x07\\n")

main()
"""
ANSWER = "\x1b[1manswer\x1b[0m"
LINES = [f"line {n}" for n in range(20)]
PAGER = "sed s/^/paged:/"


def environment(**variables: str) -> dict[str, str]:
    chosen = ("NO_COLOR", "CLICOLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "PAGER", "RCP_PAGER", "LESS")
    plain = {name: value for name, value in os.environ.items() if name not in chosen}
    return {**plain, "TERM": "xterm", "COLUMNS": "80", "LINES": "10", **variables}


def on_terminal(*words: str, **variables: str) -> list[str]:
    """Return the lines that a terminal of ten lines gets."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen(
        [sys.executable, "-c", PRINT, *words],
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        env=environment(**variables),
    )
    os.close(theirs)
    got = b""
    try:
        while piece := os.read(ours, 1 << 16):
            got += piece
    except OSError:  # EIO: the last writer has closed the terminal
        pass
    os.close(ours)
    assert running.wait() == 0
    return got.decode().replace("\r\n", "\n").removesuffix("\n").split("\n")


def in_pipe(*words: str, **variables: str) -> str:
    command = [sys.executable, "-c", PRINT, *words]
    return subprocess.run(
        command, stdout=subprocess.PIPE, check=True, text=True, env=environment(**variables)
    ).stdout


def test_a_long_text_goes_through_the_pager() -> None:
    assert on_terminal(PAGER=PAGER) == [f"paged:{line}" for line in (ANSWER, *LINES)]


def test_rcps_own_pager_comes_first() -> None:
    assert on_terminal(PAGER="false", RCP_PAGER=PAGER)[1] == "paged:line 0"


@pytest.mark.parametrize(
    "variables",
    [{"LINES": "50"}, {"RCP_PAGER": ""}, {"RCP_PAGER": "no-such-pager"}, {"RCP_PAGER": "open'"}],
)
def test_what_fits_the_screen_or_has_no_pager_is_printed(variables: dict[str, str]) -> None:
    assert on_terminal(**{"PAGER": PAGER, **variables}) == [ANSWER, *LINES]


def test_no_pager_prints_at_once() -> None:
    assert on_terminal("--no-pager", PAGER=PAGER) == [ANSWER, *LINES]


def test_less_passes_colours_on_and_leaves_the_text() -> None:
    assert on_terminal(PAGER="printenv LESS") == ["FRX"]
    assert on_terminal(PAGER="printenv LESS", LESS="S") == ["S"]


@pytest.mark.parametrize(
    ("words", "variables", "coloured"),
    [
        ((), {}, True),
        ((), {"NO_COLOR": "1"}, False),
        ((), {"NO_COLOR": ""}, True),
        ((), {"CLICOLOR": "0"}, False),
        ((), {"TERM": "dumb"}, False),
        (("--color", "never"), {"FORCE_COLOR": "1"}, False),
        (("--color", "always"), {"NO_COLOR": "1"}, True),
    ],
)
def test_colours_on_a_terminal(
    words: tuple[str, ...], variables: dict[str, str], coloured: bool
) -> None:
    first = on_terminal("--no-pager", *words, **variables)[0]
    assert first == (ANSWER if coloured else "answer")


def test_a_pipe_has_colours_only_if_asked_for() -> None:
    plain = "\n".join(["answer", *LINES]) + "\n"
    assert in_pipe() == plain
    for asked in (in_pipe("--color", "always"), in_pipe(FORCE_COLOR="1")):
        assert asked == plain.replace("answer", ANSWER)


def test_data_is_exact_in_a_pipe_and_spelled_on_a_terminal() -> None:
    assert in_pipe("--format", "json") == "esc \x1b[31m bell \x07\n"
    assert on_terminal("--format", "json") == ["esc \\u001b[31m bell \\u0007"]
