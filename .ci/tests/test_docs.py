"""The generated documents are those of this code, and every command explains itself."""

import subprocess
from pathlib import Path

import click
import pytest

from rcp.fixtures.console import commands, scripts

ROOT = Path(__file__).parents[2]
SCRIPTS = scripts()


def test_the_four_commands_are_installed() -> None:
    assert SCRIPTS == ["rcp-lab", "rcp-run", "rcp-trace", "rcp-tune"]


def test_generated_documents_are_current(tmp_path: Path) -> None:
    subprocess.run([ROOT / ".ci/docs", tmp_path], check=True)
    fresh = {p.relative_to(tmp_path): p.read_text() for p in tmp_path.rglob("*.*") if p.is_file()}
    assert len(fresh) > len(SCRIPTS)
    for path, text in fresh.items():
        kept = ROOT / "docs" / path
        assert kept.exists() and kept.read_text() == text, f"docs/{path} is stale: run make docs"
    pages = {p.name for p in (ROOT / "docs/man").glob("*.1")}
    assert pages == {path.name for path in fresh if path.suffix == ".1"}


@pytest.mark.parametrize("name", SCRIPTS)
def test_every_command_and_option_has_help(name: str) -> None:
    for typed, command in commands(name):
        assert command.help, typed
        for option in command.params:
            if isinstance(option, click.Option):
                assert option.help, f"{typed} {option.opts[0]}"


def test_generated_c_header_is_current() -> None:
    from rcp.probes.contract.c_header import c_header

    kept = (ROOT / "probes/bpf/events.h").read_text()
    assert kept == c_header(), "probes/bpf/events.h is stale: run make events"
