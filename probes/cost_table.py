"""What each BPF program costs per event: ``python3 -m rcp.probes.cost_table CMD…``, as root.

Attaches all probes as ``rcp-trace record`` does, has the kernel count the time of its BPF
programs while the command runs, and prints one line per program that ran. Records are not read:
keep the command short. In the lab's virtual time a nanosecond is an instruction.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass

from rcp.probes.attach import Probes
from rcp.probes.cost import enable_run_stats, read_run_stats
from rcp.probes.features import RecordError, read_features, require
from rcp.probes.program import Options


@dataclass(frozen=True)
class ProgramCost:
    """One BPF program: how often it ran and how long in all."""

    name: str
    runs: int
    run_ns: int


def as_table(costs: list[ProgramCost], duration_ns: int) -> str:
    """Lay the costs out as Markdown, the most expensive first."""
    lines = ["| program | runs | ns a run | share of the time |", "|---|---|---|---|"]
    for cost in sorted(costs, key=lambda cost: -cost.run_ns):
        if cost.runs:
            lines.append(
                f"| `{cost.name}` | {cost.runs} | {cost.run_ns / cost.runs:.0f} "
                f"| {100 * cost.run_ns / duration_ns:.2f} % |"
            )
    total_pct = 100 * sum(cost.run_ns for cost in costs) / duration_ns
    return "\n".join([*lines, f"| all | | | {total_pct:.2f} % |"])


def main() -> None:
    """Run the command given and print the table; exit with the command's status."""
    features = read_features()
    require(features)
    with Probes(Options(), features, os.getpid()) as probes:
        if enable_run_stats() is None:  # until this process ends
            raise RecordError("this kernel does not count the time of BPF programs (v5.8 does).")
        started_ns = time.monotonic_ns()
        done = subprocess.run(sys.argv[1:], check=False)
        duration_ns = time.monotonic_ns() - started_ns
        costs = [
            ProgramCost(name, *reversed(read_run_stats([fd])))
            for name, fd in probes.programs().items()
        ]
    print(as_table(costs, duration_ns))
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
