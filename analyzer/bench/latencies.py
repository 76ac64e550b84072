"""Measures reading latencies: seconds for the same number of lines in each format.

python -m rcp.analyzer.bench.latencies [--rows N] [--runs N] [--json]
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt

from rcp.analyzer.bench.analysis import host_facts
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.slo import measure, parse

ROWS = 1_000_000
LATENCIES_SEED = 1
_SLO = "p999=1s"

Writer = Callable[[npt.NDArray[np.int64]], str]

FILES: Mapping[str, Writer] = {
    "fio-log": lambda ns: "".join(
        f"{row // 100}, {time_ns}, {row % 2}, 4096, {row * 4096}\n"
        for row, time_ns in enumerate(ns.tolist())
    ),
    "pgbench": lambda ns: "".join(
        f"{row % 8} {row // 8} {time_ns // 1000} 0 {1767225615 + row // 10_000} {row % 10_000} 61\n"
        for row, time_ns in enumerate(ns.tolist())
    ),
    "csv": lambda ns: (
        "n,latency_ns\n" + "".join(f"{row},{time_ns}\n" for row, time_ns in enumerate(ns.tolist()))
    ),
    "lines": lambda ns: "".join(f"fsync {time_ns / 1000:.3f}us\n" for time_ns in ns.tolist()),
    "lines of many kinds": lambda ns: "".join(
        f"kind{row % 3} {time_ns}ns\n" for row, time_ns in enumerate(ns.tolist())
    ),
}


def measure_reading(rows: int, runs: int) -> list[dict[str, Any]]:
    """Return for each format the median time of reading, in s, and one quantile."""
    latencies = np.random.default_rng(LATENCIES_SEED).exponential(1e6, rows).astype(np.int64)
    (slo,) = parse(_SLO)
    found = []
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as folder:
        for name, write in FILES.items():
            path = Path(folder) / "latencies"
            path.write_text(write(latencies), encoding="ascii")
            wall, cpu = [], []
            for _ in range(runs):
                begin, begin_cpu = time.perf_counter(), time.process_time()
                read = open_latencies(path)
                wall.append(time.perf_counter() - begin)
                cpu.append(time.process_time() - begin_cpu)
            if read.n != rows:
                raise click.ClickException(f"{name}: {read.n} of {rows} latencies were read")
            found.append(
                {
                    "format": name,
                    "rows": rows,
                    "bytes": path.stat().st_size,
                    "read_s": round(float(np.median(wall)), 3),
                    "cpu_s": round(float(np.median(cpu)), 3),
                    "p999_ns": measure(slo, read).value_ns,
                }
            )
    return found


@click.command()
@click.option("--rows", type=click.IntRange(10_000), default=ROWS, show_default=True, help="Lines.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Reads of each file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(rows: int, runs: int, as_json: bool) -> None:
    """Measure reading latencies in each format whose files can be long."""
    results = measure_reading(rows, runs)
    if as_json:
        click.echo(json.dumps({"host": host_facts(), "results": results}, indent=1))
        return
    for result in results:
        click.echo(
            f"{result['format']:20} {result['rows']:>10,} lines {result['bytes'] / 1e6:6.1f} MB "
            f"{result['read_s']:6.2f} s, {result['cpu_s']:.2f} s of CPU"
        )


if __name__ == "__main__":
    main()
