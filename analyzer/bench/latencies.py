"""Measures reading latencies: MB/s of a large file in each text format, beside DuckDB's.

python -m rcp.analyzer.bench.latencies [--mb N] [--runs N] [--json]

DuckDB only computes the quantile of one column. rcp also checks each line, tells kinds of requests,
counts failures and looks for a cut end.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np

from rcp.analyzer.bench.analysis import host_facts
from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.slo import measure, parse

MB = 100
LATENCIES_SEED = 1
_SLO = "p999=1s"
_SAMPLE_ROWS = 1000
_JSON_LINES = ".jsonl"

Line = Callable[[int, int], str]
"""Takes the number of a request and its latency in ns; returns its line or lines."""


class TextFormat(NamedTuple):
    """How a file is written, and how DuckDB reads the latencies of it."""

    line: Line
    heading: str = ""
    column: str = ""
    """Of the latencies, as SQL; "" if DuckDB does not read such files."""
    options: str = "header = true"


_NO_HEADING = "header = false, delim = {!r}"
_K6_HEADING = "metric_name,timestamp,metric_value,expected_response,method,name,extra_tags\n"
_JMETER_HEADING = "timeStamp,elapsed,label,responseCode,threadName,success,bytes,Latency\n"
_HEY_HEADING = (
    "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,status-code,offset\n"
)

FILES: Mapping[str, TextFormat] = {
    "fio-log": TextFormat(
        lambda row, ns: f"{row // 100}, {ns}, {row % 2}, 4096, {row * 4096}\n",
        column="column1",
        options=_NO_HEADING.format(","),
    ),
    "pgbench": TextFormat(
        lambda row, ns: (
            f"{row % 8} {row // 8} {ns // 1000} 0 {1767225615 + row // 10_000} {row % 10_000} 61\n"
        ),
        column="column2",
        options=_NO_HEADING.format(" "),
    ),
    "csv": TextFormat(lambda row, ns: f"{row},{ns}\n", "n,latency_ns\n", "latency_ns"),
    "jsonl": TextFormat(lambda row, ns: f'{{"n": {row}, "took_ns": {ns}}}\n', column="took_ns"),
    "lines": TextFormat(lambda row, ns: f"fsync {ns / 1000:.3f}us\n"),
    "lines of many kinds": TextFormat(lambda row, ns: f"kind{row % 3} {ns}ns\n"),
    "k6": TextFormat(
        lambda row, ns: f"http_req_duration,{1795439780 + row // 900},{ns / 1e6:.6f},true,GET,,\n",
        _K6_HEADING,
        "metric_value",
    ),
    "vegeta": TextFormat(
        lambda row, ns: (
            f"{1795439778707021450 + row},200,{ns},0,2,,b2s=,,{row},GET,http://a/,QQ==\n"
        ),
        column="column02",
        options=_NO_HEADING.format(","),
    ),
    "jmeter": TextFormat(
        lambda row, ns: f"{1509841690552 + row},{ns // 10**6},login,200,users 1-1,true,2781,1\n",
        _JMETER_HEADING,
        "elapsed",
    ),
    "hey": TextFormat(
        lambda row, ns: f"{ns / 1e9:.6f},0.0001,0.0000,0.0000,0.0010,0.0000,200,{row / 1e3:.4f}\n",
        _HEY_HEADING,
        '"response-time"',
    ),
    "ycsb": TextFormat(
        lambda row, ns: f"READ,{1511992463001 + row},{ns // 1000}\n",
        "READ latency raw data: op, timestamp(ms), latency(us)\n",
    ),
}


def _write(path: Path, form: TextFormat, mb: float) -> int:
    """Write a file of *mb* MB or a little more; return its number of requests."""
    generator = np.random.default_rng(LATENCIES_SEED)
    written, rows = 0, 0
    with path.open("w", encoding="ascii") as file:
        file.write(form.heading)
        while written < mb * 1e6:
            latencies = generator.exponential(1e7, _SAMPLE_ROWS).astype(np.int64)
            each = enumerate(latencies.tolist(), rows)
            written += file.write("".join(form.line(row, ns) for row, ns in each))
            rows += _SAMPLE_ROWS
    return rows


def _seconds(read: Callable[[], object], runs: int) -> tuple[float, float]:
    """Return the median time and CPU time of some reads, in s."""
    wall, cpu = [], []
    for _ in range(runs):
        begin, begin_cpu = time.perf_counter(), time.process_time()
        read()
        wall.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - begin_cpu)
    return float(np.median(wall)), float(np.median(cpu))


def _by_duckdb(path: Path, form: TextFormat) -> None:
    table = f"read_csv('{path}', {form.options})"
    if path.suffix == _JSON_LINES:
        table = f"read_json('{path}', format = 'newline_delimited')"
    with Store.create(None, str(path), ["SELECT 1"]) as store:
        store.query(f"SELECT quantile_disc({form.column}, 0.999) FROM {table}")


def _measured(path: Path, name: str, form: TextFormat, mb: float, runs: int) -> dict[str, Any]:
    rows = _write(path, form, mb)
    read = open_latencies(path)
    if read.n != rows:
        raise click.ClickException(f"{name}: {read.n} of {rows} latencies were read")
    size_mb = path.stat().st_size / 1e6
    read_s, cpu_s = _seconds(lambda: open_latencies(path), runs)
    (slo,) = parse(_SLO)
    found = {
        "format": name,
        "rows": rows,
        "mb": round(size_mb, 1),
        "read_s": round(read_s, 3),
        "cpu_s": round(cpu_s, 3),
        "mb_per_s": round(size_mb / read_s, 1),
        "p999_ns": measure(slo, read).value_ns,
    }
    if form.column:
        peer_s, _ = _seconds(lambda: _by_duckdb(path, form), runs)
        found["duckdb_s"] = round(peer_s, 3)
        found["duckdb_mb_per_s"] = round(size_mb / peer_s, 1)
    return found


def measure_reading(mb: float, runs: int) -> list[dict[str, Any]]:
    """Return for each format how fast a file is read, and one quantile."""
    found = []
    with tempfile.TemporaryDirectory(prefix="rcp-bench-") as folder:
        for name, form in FILES.items():
            path = Path(folder) / f"latencies{_JSON_LINES if name == 'jsonl' else ''}"
            found.append(_measured(path, name, form, mb, runs))
            path.unlink()
    return found


@click.command()
@click.option("--mb", type=click.FloatRange(0.1), default=MB, show_default=True, help="Size.")
@click.option(
    "--runs",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Reads of each file.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def main(mb: float, runs: int, as_json: bool) -> None:
    """Measure reading latencies in each format whose files can be long."""
    results = measure_reading(mb, runs)
    if as_json:
        click.echo(json.dumps({"host": host_facts(), "results": results}, indent=1))
        return
    for one in results:
        peer = f", DuckDB {one['duckdb_mb_per_s']:.0f} MB/s" if "duckdb_s" in one else ""
        click.echo(
            f"{one['format']:20} {one['rows']:>10,} requests {one['mb']:6.1f} MB "
            f"{one['read_s']:6.2f} s, {one['cpu_s']:.2f} s of CPU: {one['mb_per_s']:.0f} MB/s{peer}"
        )


if __name__ == "__main__":
    main()
