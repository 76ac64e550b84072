"""Nothing prints past the one door to stdout and stderr, which spells out names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[4]
PROGRAMS = ("probes", "analyzer", "tuner", "ui")
DOORS = {
    "probes/contract/printing/output.py",
    "probes/contract/cli_error.py",  # one line, spelled
    "probes/contract/boundary.py",  # a fault of rcp, when little else works
    "tuner/commands/live_table.py",  # rich, whose texts are spelled
}
# What only those who work on rcp run, on recordings of their own.
OURS = {"bench", "tests", "browser.py", "screenshots.py", "bench.py"}
PRINTING = {"print", "click.echo", "click.secho", "click.echo_via_pager", "sys.stdout.write"}


def printing(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in PRINTING:
            yield ast.unparse(node.func)


def test_only_the_door_prints() -> None:
    past = {
        str(path.relative_to(ROOT)): found
        for program in PROGRAMS
        for path in (ROOT / program).rglob("*.py")
        if not OURS & set(path.relative_to(ROOT).parts)
        and str(path.relative_to(ROOT)) not in DOORS
        and (found := list(printing(path.read_text())))
    }
    assert past == {}


def test_what_prints_is_found() -> None:
    assert list(printing("def f():\n    click.echo(1)\n    self.print(2)")) == ["click.echo"]
