from importlib.metadata import version

from click.testing import CliRunner

from rcp.tuner.cli import main


def test_help_says_that_tuning_is_not_in_this_release() -> None:
    result = CliRunner().invoke(main, ["--help"])
    assert result.exit_code == 0
    assert "Not in this release" in result.output
    assert "rcp-trace" in result.output


def test_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert result.output == f"rcp-tune, version {version('rcp')}\n"


def test_a_command_of_a_later_release_is_refused() -> None:
    result = CliRunner().invoke(main, ["restore"])
    assert result.exit_code == 2
    assert "No such command 'restore'" in result.output
