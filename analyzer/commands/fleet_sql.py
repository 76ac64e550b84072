"""``rcp-trace fleet sql``: one query over many recordings."""

from __future__ import annotations

import click

from rcp.analyzer.commands.common import CliError, QueryCommand, show_as
from rcp.analyzer.commands.fleet import EXIT_INCOMPLETE
from rcp.probes.contract.options import format_option
from rcp.probes.contract.printing.output import print_note
from rcp.probes.contract.printing.page import page


@click.command(cls=QueryCommand, short_help="Run a SQL query on many recordings.")
@click.argument("directory", metavar="DIR")
@click.argument("query")
@click.option(
    "--merge",
    metavar="SQL",
    help="Query on the answers of all recordings, table part; without it they follow each other.",
)
@click.option(
    "--jobs", type=click.IntRange(1), metavar="N", help="Processes.  [default: one a CPU]"
)
@click.option(
    "--dask",
    metavar="ADDRESS",
    help="Let the workers of this Dask scheduler (tcp://host:8786) ask the recordings.",
)
@format_option(
    *("text", "tsv", "csv", "ndjson", "json", "markdown"),
    help="Output format: a table for people, or lines for programs; json is one array.",
)
def sql(
    directory: str, query: str, merge: str | None, jobs: int | None, dask: str | None, kind: str
) -> None:
    """Run QUERY on each recording below DIR: stores, spools and packed spools.

    Each recording is asked by itself, so a query sees one at a time. The answers are a table part,
    with the recording's path in the column recording; --merge is a query on it. Counts and sums
    can be summed again, averages and percentiles cannot. A recording that fails is named, and the
    exit status is 3; a worker that dies is retried. Dask's workers need rcp, and the recordings
    under the same path.

    \b
    Examples:
      rcp-trace fleet sql recordings/ "SELECT max(dur) FROM request"
      rcp-trace fleet sql recordings/ "SELECT culprit, sum(dur) AS ns FROM inversion GROUP BY 1" \\
          --merge "SELECT culprit, sum(ns) FROM part GROUP BY 1 ORDER BY 2 DESC"
      rcp-trace fleet sql /nfs/recordings "FROM request_latency" --dask tcp://head:8786
    """
    from rcp.analyzer.fleet.spread.asking import together
    from rcp.analyzer.fleet.spread.partition import recordings_in
    from rcp.analyzer.rows import rows_as
    from rcp.analyzer.text import plural

    if jobs is not None and dask is not None:
        raise CliError("--jobs and --dask were given: Dask's workers are as many as it has.")
    paths = recordings_in(directory)
    if dask is not None:
        from rcp.analyzer.fleet.spread.cluster import ask_by_dask

        parts = ask_by_dask(paths, query, dask)
    else:
        from rcp.analyzer.fleet.spread.processes import ask_by_processes

        parts = ask_by_processes(paths, query, jobs)
    found = together(parts, merge)
    show_as(kind, rows_as(kind, found.result.columns, found.result.rows, page()))
    for name, lack in found.lacks.items():
        print_note(f"rcp-trace: warning: {name}: {lack}")
    for failure in found.failed:
        print_note(f"rcp-trace: warning: {failure.place} failed: {failure.why}.")
    if found.failed:
        n = plural(len(paths), "recording")
        print_note(f"rcp-trace: warning: the answer is of {found.n_answered} of {n}.")
        raise SystemExit(EXIT_INCOMPLETE)
