"""``rcp-trace diff``: compares two recordings."""

from __future__ import annotations

from pathlib import Path

import click

from rcp.analyzer.commands.common import formatted, recording, show_as
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.page import page


@click.command(short_help="Show what changed between two recordings.")
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@formatted
def diff(a: Path, b: Path, kind: str) -> None:
    """Show what changed from recording A to recording B.

    For each kind of request in both recordings it prints quantiles side by side, the time per
    request by wait reason and by culprit, and the patterns that are new, gone or changed, the
    largest change first. Times are per request and counts per 1000 requests, so the recordings
    may differ in length.

    \b
    Examples:
      rcp-trace diff before.duckdb after.duckdb
      rcp-trace diff main.duckdb branch.spool --format json
    """
    from rcp.analyzer.compare.diff import compare
    from rcp.analyzer.compare.render import diff_as

    with recording(a) as store_a, recording(b) as store_b:
        difference = compare(store_a, store_b, (str(a), str(b)))
    show_as(kind, diff_as(kind, difference, page()))
