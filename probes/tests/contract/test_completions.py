"""What a TAB reads: no more than the words that it completes need."""

from __future__ import annotations

from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem

from rcp.probes.contract import completions


def words(complete: completions.Callback) -> list[str]:
    command = click.Command("x")
    found: list[CompletionItem] = complete(click.Context(command), click.Option(["--x"]), "")
    return [item.value for item in found]


def test_only_what_can_be_tuned_is_told_by_its_run_sh(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("plain", b"fio\n"), ("tuned", b". tunable.sh\n")):
        folder = tmp_path / "scenarios" / name
        folder.mkdir(parents=True)
        (folder / "scenario.toml").touch()
        (folder / "run.sh").write_bytes(text)
    monkeypatch.setattr(completions, "files", lambda _package: tmp_path)
    assert words(completions.TUNABLE_SCENARIOS) == ["tuned"]
    (tmp_path / "scenarios" / "plain" / "run.sh").write_bytes(b"\xff")  # raises if it is read
    assert words(completions.SCENARIOS) == ["plain", "tuned"]
