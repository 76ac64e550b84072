"""Errors in one line."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from rcp.probes.contract.cli_error import OneLineError, one_line


class _Error(OneLineError):
    program = "rcp-toy"


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("no such file", "no such file."),
        ("no such file.", "no such file."),
        ("read on...", "read on."),
        ("two\n  lines", "two lines."),
        ("load it with `rcp-trace recover x`", "load it with `rcp-trace recover x`."),
        ("which one?", "which one?."),
    ],
)
def test_an_error_is_one_line_with_one_full_stop(message: str, line: str) -> None:
    assert one_line(message) == line


def test_a_command_names_its_program_and_ends_with_status_2() -> None:
    @click.command()
    def command() -> None:
        raise _Error("disk full")

    result = CliRunner().invoke(command)
    assert (result.exit_code, result.stderr) == (2, "rcp-toy: error: disk full.\n")
