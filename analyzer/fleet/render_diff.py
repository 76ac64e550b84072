"""A comparison of two parts of a fleet as text, JSON or CSV. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.analyzer.compare.render import diff_csv, diff_text, verdict
from rcp.analyzer.fleet.differ import FleetDiff, WorseHost
from rcp.analyzer.fleet.render import coverage_lines, lacks
from rcp.analyzer.fleet.report import BEYOND_MIN, TIMES_MIN
from rcp.analyzer.rows import as_csv
from rcp.analyzer.tables import columns, fitted
from rcp.analyzer.text import wrapped
from rcp.probes.contract.percent import percent
from rcp.probes.contract.printing.json_text import as_json
from rcp.probes.contract.printing.page import PIPED, Page
from rcp.probes.contract.printing.spelled import spelled

_HOSTS_MAX = 12


def _hosts(rows: Sequence[WorseHost], page: Page) -> list[str]:
    cells = [
        (r.host, r.kind, str(r.b_n), percent(r.a_share), percent(r.b_share), r.culprit or "-")
        for r in rows[:_HOSTS_MAX]
    ]
    names = ("host", "request", "count", "slow in A", "slow in B", "mainly")
    more = [f"… {len(rows) - _HOSTS_MAX} more"] if len(rows) > _HOSTS_MAX else []
    heads = columns(*names, left=2, sacrifice=("count",))
    return [*fitted(heads, cells, page), *more] if cells else ["none"]


def _lacks(found: FleetDiff) -> str:
    return lacks((found.a_coverage, " of A"), (found.b_coverage, " of B"))


def fleet_diff_text(found: FleetDiff, page: Page = PIPED) -> str:
    """Return a comparison as text that fits a page; its first line is the answer."""
    hosts, inner = spelled(found.hosts), page.narrower(2)
    lines = page.marked(wrapped(_lacks(found), page.prose), "answer")
    lines.append(diff_text(found.diff, page))
    for letter, coverage in (("A", found.a_coverage), ("B", found.b_coverage)):
        lines += page.marked([f"Coverage of {letter}"], "title")
        for line in coverage_lines(spelled(coverage)):
            lines += wrapped(line, page.prose, "  ", "    ")
        lines.append("")
    lines += page.marked(["Hosts that got worse"], "title")
    lines += (f"  {line}".rstrip() for line in _hosts(hosts, inner))
    note = (
        "slow: requests in or beyond the bucket of A's p99 of their kind. A host got worse if "
        f"{BEYOND_MIN} of its requests in B are slow, and {TIMES_MIN} times the share of A's."
    )
    return "\n".join([*lines, "", *wrapped(note, page.prose)]) + "\n"


def fleet_diff_json(found: FleetDiff) -> str:
    """Return a comparison as JSON: NamedTuples are objects."""
    return as_json(
        {
            "verdict": verdict(found.diff),
            "incomplete": _lacks(found),
            **found.diff._asdict(),
            "a_coverage": found.a_coverage,
            "b_coverage": found.b_coverage,
            "hosts": found.hosts,
        }
    )


def fleet_diff_csv(found: FleetDiff) -> str:
    """Return a comparison's tables as CSV blocks, each below a line ``# name``."""
    rows = [("", lack)] if (lack := _lacks(found)) else []
    rows += [("A", line) for line in coverage_lines(found.a_coverage)]
    rows += [("B", line) for line in coverage_lines(found.b_coverage)]
    return (
        f"{diff_csv(found.diff)}\n# hosts\n{as_csv(WorseHost._fields, found.hosts)}\n"
        f"# coverage\n{as_csv(('part', 'coverage'), rows)}"
    )


def fleet_diff_as(kind: str, found: FleetDiff, page: Page = PIPED) -> str:
    """Return a comparison as ``text``, ``json`` or ``csv``; only text heeds the page."""
    if kind == "json":
        return fleet_diff_json(found)
    return fleet_diff_csv(found) if kind == "csv" else fleet_diff_text(found, page)
