"""What docs/operations.md tells to type exists, with these options."""

import re
import shlex
from pathlib import Path

import click
import pytest

from rcp.fixtures.console import commands
from rcp.probes.commands.agent_config import read_config

PAGE = Path(__file__).parents[2] / "docs/operations.md"
COMMANDS = dict(commands("rcp-trace"))


def lines() -> list[str]:
    found = re.findall(r"^    (?:sudo )?(rcp-trace .*)$", PAGE.read_text(), re.MULTILINE)
    assert len(found) > 8
    return found


@pytest.mark.parametrize("line", lines())
def test_a_command_of_the_page_takes_these_words(line: str) -> None:
    words = shlex.split(line)
    name = " ".join(words[:3]) if " ".join(words[:3]) in COMMANDS else " ".join(words[:2])
    if name == "rcp-trace gate":
        name, words = "rcp-trace gate check", ["rcp-trace", "gate", "check", *words[2:]]
    command = COMMANDS[name]
    assert not isinstance(command, click.Group)
    command.make_context(name, words[len(name.split()) :])


def test_the_page_has_two_pages() -> None:
    assert len(PAGE.read_text().split()) < 1000


def test_the_configuration_of_the_page_is_right(tmp_path: Path) -> None:
    (text,) = re.findall(r"(    \[record\]\n(?:    .*\n)+)", PAGE.read_text())
    path = tmp_path / "agent.toml"
    path.write_text(re.sub("^    ", "", text, flags=re.MULTILINE))
    read_config(path)
