"""Options that several programs have."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner

from rcp.probes.contract.options import format_option


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
