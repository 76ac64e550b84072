"""Run two commands in turn, A B B A, so that drift affects both alike.

Runs happen on this machine, or in a lab guest each, in virtual time, where one run is enough.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path

from rcp.analyzer.gate import host, machine
from rcp.analyzer.gate.child import run_child
from rcp.analyzer.gate.correction import corrected
from rcp.analyzer.gate.side import Reading, Run, read_run
from rcp.analyzer.latencies.latency import LatencyError

OUT = "RCP_GATE_OUT"
"""Environment variable that names the folder a run may write to."""

_STDOUT = "stdout.txt"
_LAB_FAULT = "rcp-lab: error: "
_BLANK_BYTES = 4096

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """What to run, and where its latencies are: in a file below its folder, or on its stdout."""

    commands: Mapping[str, str]
    """``A`` (the baseline) and ``B`` (the candidate)."""
    folder: Path
    latencies: str = ""
    reading: Reading = field(default_factory=Reading)
    in_lab: bool = False
    lab_options: Sequence[str] = ()
    """Options for ``rcp-lab run``."""
    timeout_s: float | None = None


def turns(runs: int, first: int = 1) -> Iterator[str]:
    """Yield whose turn it is: A B B A A B B A …, from pair *first* on."""
    for pair in range(first - 1, first - 1 + runs):
        yield from ("AB", "BA")[pair % 2]


def make_runs(plan: Plan, runs: int, say: Say, first: int = 1) -> tuple[list[Run], list[Run]]:
    """Run each command *runs* times, from run *first* on; return A's runs and B's.

    Raises LatencyError.
    """
    made: dict[str, list[Run]] = {"A": [], "B": []}
    for side in turns(runs, first):
        number = first + len(made[side])
        say(f"{side}, run {number}")
        made[side].append(_run(plan, side, number))
    return made["A"], made["B"]


def _run(plan: Plan, side: str, number: int) -> Run:
    folder = plan.folder / f"{side}{number}"
    folder.mkdir(parents=True, exist_ok=True)
    named = f"{side}, run {number}"
    command, environment = plan.commands[side], {**os.environ, OUT: str(folder)}
    words, results = ["sh", "-c", command], folder
    if plan.in_lab:
        results = folder / "lab"  # with the guest's own stdout.txt
        words = [sys.executable, "-m", "rcp.lab", "run", "-q", "--timing", "--out", str(results)]
        words += [*plan.lab_options, "--", command]
    # The lab's guest has virtual time: no machine is in its way.
    watching: AbstractContextManager[dict[str, float]]
    watching = nullcontext({}) if plan.in_lab else machine.watched()
    with watching as facts:
        _call(words, named, folder, environment, plan.timeout_s)
    found = _found(plan, results, named)
    return replace(found, name=named, host=found.host or host.here(), machine=facts)


def _found(plan: Plan, results: Path, named: str) -> Run:
    """Read what a run wrote. All that is told of it names the run: its folder is temporary."""
    path = results / (plan.latencies or _STDOUT)
    if not plan.latencies and _is_blank(path):
        raise LatencyError(
            f"{named} printed nothing: print a latency a line, or name the program's file by "
            "--latencies."
        )
    try:
        found = read_run(str(path), plan.reading)
        if plan.reading.interval_ns:
            found = replace(found, latencies=corrected(found.latencies, plan.reading.interval_ns))
    except LatencyError as error:
        raise LatencyError(_without_folder(str(error), results, named)) from error
    latencies = replace(
        found.latencies,
        source=_without_folder(found.latencies.source, results, named),
        warnings=tuple(
            _without_folder(warning, results, named) for warning in found.latencies.warnings
        ),
    )
    return replace(found, latencies=latencies)


def _is_blank(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return not file.read(_BLANK_BYTES).strip()


def _without_folder(text: str, results: Path, named: str) -> str:
    """Return a message with the run in place of its folder, and the option in place of a path."""
    to_write = re.escape(f"{results}/") + r"(\S+?)(?=:[A-Z]{4,}\b)"  # such as PATH:COLUMN
    text = re.sub(to_write, r"--latencies \1", text)
    text = text.replace(f"{results}/{_STDOUT}", f"{named}: stdout")
    return text.replace(f"{results}/", f"{named}: ")


def _call(
    words: list[str],
    named: str,
    folder: Path,
    environment: Mapping[str, str],
    timeout_s: float | None,
) -> None:
    output = folder / _STDOUT
    with output.open("wb") as stdout, (folder / "stderr.txt").open("wb+") as stderr:
        try:
            status = run_child(
                words, stdout=stdout, stderr=stderr, env=environment, timeout_s=timeout_s
            )
        except subprocess.TimeoutExpired as error:
            raise LatencyError(
                f"{named} took longer than {timeout_s:g} s: allow more with --timeout."
            ) from error
        stderr.seek(0)
        lines = stderr.read().decode(errors="replace").strip().splitlines()
    if status != 0:
        last = lines[-1].removeprefix(_LAB_FAULT) if lines else "it printed no error"
        raise LatencyError(f"{named} failed (exit status {status}): {last}")
