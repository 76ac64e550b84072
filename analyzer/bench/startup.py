"""Measures how soon each command answers --help and TAB: milliseconds of wall and CPU time.

python -m rcp.analyzer.bench.startup [--runs N] [--json]
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.bench.analysis import host_facts

BOUND_MS = 150
PROGRAMS = {"rcp-trace": "analyzer", "rcp-tune": "tuner", "rcp-lab": "lab", "rcp-run": "mark"}


def command_lines() -> Iterator[list[str]]:
    """Yield every command of every program, as typed."""
    for program, package in PROGRAMS.items():
        main: click.Command = import_module(f"rcp.{package}.cli").main
        waiting: list[tuple[list[str], click.Command]] = [([program], main)]
        while waiting:
            words, command = waiting.pop()
            yield words
            if isinstance(command, click.Group):
                waiting += [([*words, name], below) for name, below in command.commands.items()]


def _run(words: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return wall and CPU time of a command, in ms."""
    script = Path(sys.executable).with_name(words[0])
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(
        [script, *words[1:]],
        stdout=subprocess.DEVNULL,
        check=True,
        env={**os.environ, **environment},
    )
    wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return wall * 1e3, cpu * 1e3


def measure_starts(runs: int) -> list[dict[str, Any]]:
    """Return for each command the best wall and CPU time of *runs*, for help and for completion."""
    found = []
    for words in command_lines():
        asked = {
            "help": ([*words, "--help"], {}),
            "completion": (
                words[:1],
                {
                    f"_{words[0].replace('-', '_').upper()}_COMPLETE": "bash_complete",
                    "COMP_WORDS": " ".join([*words, "--"]),
                    "COMP_CWORD": str(len(words)),
                },
            ),
        }
        row: dict[str, Any] = {"command": " ".join(words)}
        for name, (line, environment) in asked.items():
            times = [_run(line, environment) for _ in range(runs)]
            # the best: what is above it is the machine's other work
            row[f"{name}_wall_ms"] = round(min(wall for wall, _ in times), 1)
            row[f"{name}_cpu_ms"] = round(min(cpu for _, cpu in times), 1)
        found.append(row)
    return found


@click.command()
@click.option("--runs", default=7, show_default=True, help="Runs of each command.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(runs: int, as_json: bool) -> None:
    """Measure the start-up of all commands."""
    rows = measure_starts(runs)
    # an editable install adds its finder, which imports 30 ms of modules
    editable = not str(getattr(find_spec("rcp.analyzer"), "origin", "")).count("site-packages")
    facts = {"bound_ms": BOUND_MS, "editable_install": editable, "host": host_facts()}
    if as_json:
        click.echo(json.dumps({**facts, "commands": rows}, indent=1))
        return
    for row in rows:
        cells = [
            f"{name} {row[f'{name}_wall_ms']:6.1f} ms, {row[f'{name}_cpu_ms']:6.1f} of CPU"
            for name in ("help", "completion")
        ]
        click.echo(f"{row['command']:24} {'; '.join(cells)}")


if __name__ == "__main__":
    main()
