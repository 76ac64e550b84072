"""Options that several programs have."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from rcp.probes.contract.options import OUTPUT_PATH, PATH, format_option, is_file


@click.command()
@format_option("json", "csv", help="Which.")
def _command(kind: str) -> None:
    click.echo(kind)


@pytest.mark.parametrize(("words", "kind"), [([], "json"), (["--format", "csv"], "csv")])
def test_the_first_format_is_the_default(words: list[str], kind: str) -> None:
    assert CliRunner().invoke(_command, words).output == f"{kind}\n"


def test_a_later_format_can_be_the_default() -> None:
    @click.command()
    @format_option("json", "csv", default="csv")
    def command(kind: str) -> None:
        click.echo(kind)

    assert CliRunner().invoke(command).output == "csv\n"


def test_another_format_is_refused_with_the_choices() -> None:
    result = CliRunner().invoke(_command, ["--format", "xml"])
    assert result.exit_code == 2
    assert "'xml' is not one of 'json', 'csv'" in result.stderr


@click.command()
@click.option("-o", "--output", type=PATH)
@click.option("--printed", type=OUTPUT_PATH)
def _writing(output: Path | None, printed: Path | None) -> None:
    click.echo(f"{output} {is_file(printed)}")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ([], "None False"),
        (["-o", "./-", "--printed", "-"], "- False"),
        (["--printed", "x.csv"], "None True"),
    ],
)
def test_a_dash_is_stdout_where_a_command_can_print(words: list[str], told: str) -> None:
    assert CliRunner().invoke(_writing, words).output == f"{told}\n"


def test_elsewhere_it_would_be_a_file() -> None:
    result = CliRunner().invoke(_writing, ["-o", "-"])
    assert result.exit_code == 2
    told = "- would be a file of that name: name a file, or write ./- for that one."
    assert result.stderr.endswith(f"'-o' / '--output': {told}\n")
