"""A fleet of small recordings, made by the commands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from rcp.analyzer.cli import main
from rcp.analyzer.tests.fleet.hosts import recorded

Run = Callable[..., Result]
Add = Callable[..., Path]


@pytest.fixture
def run() -> Run:
    """Run rcp-trace with words."""

    def of(*words: object) -> Result:
        return CliRunner().invoke(main, [str(word) for word in words])

    return of


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    """The folder of a fleet."""
    return tmp_path / "fleet"


@pytest.fixture
def add(tmp_path: Path, fleet: Path, run: Run) -> Add:
    """Record, summarize, and add to the fleet; returns the summary's path."""
    n = iter(range(10_000))

    def of(*names: Any, **options: Any) -> Path:
        spool = recorded(*names, **options).write(tmp_path / f"{next(n)}.spool")
        done = run("summary", spool, "--fleet", fleet)
        assert done.exit_code == 0, done.output
        return Path(done.stderr.removesuffix(" written.\n"))

    return of
