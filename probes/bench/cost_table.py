"""The cost of each BPF program: ``python3 -m rcp.probes.bench.cost_table CMD…``, as root.

Attaches all probes as ``rcp-trace record`` does, has the kernel count the time of its BPF
programs while the command runs, and prints one line per program that ran. Records are not read:
keep the command short. In the lab's virtual time a nanosecond is an instruction.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rcp.probes.attach import Probes
from rcp.probes.contract.percent import percent
from rcp.probes.cost.cost import enable_run_stats, read_run_stats
from rcp.probes.kernel.features import RecordError, read_features
from rcp.probes.kernel.obstacles import require
from rcp.probes.program import Options


@dataclass(frozen=True)
class ProgramCost:
    """One BPF program: number of runs and total run time."""

    name: str
    runs: int
    run_ns: int


def as_table(costs: list[ProgramCost], duration_ns: int) -> str:
    """Return the costs as a Markdown table, the most expensive program first."""
    lines = ["| program | runs | ns a run | share of the time |", "|---|---|---|---|"]
    for cost in sorted(costs, key=lambda cost: -cost.run_ns):
        if cost.runs:
            lines.append(
                f"| `{cost.name}` | {cost.runs} | {cost.run_ns / cost.runs:.0f} "
                f"| {percent(cost.run_ns / duration_ns, 2)} |"
            )
    total = percent(sum(cost.run_ns for cost in costs) / duration_ns, 2)
    return "\n".join([*lines, f"| all | | | {total} |"])


@dataclass(frozen=True)
class Measurement:
    """The cost of all programs while one command ran."""

    title: str
    duration_ns: int
    costs: list[ProgramCost]
    status: int
    """The command's exit status."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, the most expensive program first."""
        ran = sorted((c for c in self.costs if c.runs), key=lambda cost: -cost.run_ns)
        return {
            "title": self.title,
            "duration_ns": self.duration_ns,
            "virtual_time": os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1",
            "kernel": platform.release(),
            "programs": [asdict(c) for c in ran],
        }


def measure(title: str, command: list[str]) -> Measurement:
    """Run ``command`` with all probes on; raise RecordError where that is impossible."""
    features = read_features()
    require(features)
    with Probes(Options(), features, os.getpid()) as probes:
        if enable_run_stats() is None:  # until this process ends
            raise RecordError("this kernel does not measure BPF run times: use Linux 5.8 or newer.")
        started_ns = time.monotonic_ns()
        done = subprocess.run(command, check=False)
        duration_ns = time.monotonic_ns() - started_ns
        costs = [
            ProgramCost(name, *reversed(read_run_stats([fd])))
            for name, fd in probes.programs().items()
        ]
    return Measurement(title, duration_ns, costs, done.returncode)


def add_to(prefix: Path, measurement: Measurement) -> None:
    """Add a measurement to ``PREFIX.json``, a list, and its table to ``PREFIX.md``."""
    stored = prefix.with_suffix(".json")
    all_of_them = json.loads(stored.read_text()) if stored.exists() else []
    stored.write_text(json.dumps([*all_of_them, measurement.as_dict()], indent=1) + "\n")
    with prefix.with_suffix(".md").open("a") as file:
        table = as_table(measurement.costs, measurement.duration_ns)
        file.write(f"\n## {measurement.title}\n\n{table}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command given and print the table; return the command's status."""
    parser = argparse.ArgumentParser(prog="cost_table", description=__doc__.splitlines()[0])
    parser.add_argument("--title", default="", help="heading in the files of --add-to")
    parser.add_argument(
        "--add-to",
        type=Path,
        metavar="PREFIX",
        help="append to PREFIX.json, .md",
    )
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    measurement = measure(options.title, options.command)
    if options.add_to:
        add_to(options.add_to, measurement)
    print(as_table(measurement.costs, measurement.duration_ns))
    return measurement.status


if __name__ == "__main__":
    sys.exit(main())
