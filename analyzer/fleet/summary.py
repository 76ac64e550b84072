"""Makes the summary of a recording: additive rows, small enough to send from every host.

    part       kind   role        …  culprit       bucket   n  n_blocked  dur_ns  blocked_ns  …
    request    fsync  foreground                     3052  12         11  …
    wait       fsync  foreground                     3052  12         12  …
    culprit    fsync  foreground     checkpointer    3052  11         11  …
    pattern    fsync  foreground     checkpointer    3052   9          9  …

Sums of these rows over any recordings are what one recording of all would have had. The chain walk
needs a recording whole, so it runs where the recording is; only rows leave the host.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.db.arrow import Column, write_row_groups
from rcp.analyzer.db.meta import extent, facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.recording_id import recording_digest
from rcp.analyzer.db.store import Store
from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.header import KEY, Exemplar, SummaryHeader, day_of
from rcp.analyzer.fleet.histogram import bounds
from rcp.analyzer.reports.doubts import incomplete
from rcp.probes.contract.atomic import atomic_replace

ROW_GROUPS = (("request",), ("wait", "culprit"), ("pattern",))
"""Parts that are read together: a reader skips the others."""

_WITH_BOUNDS = ("part", "kind", "role")
"""Columns whose least and greatest values are stored. Those of others double the time it takes to
open a file, and no query has a use for them."""

COLUMNS = {
    **dict.fromkeys(("host", "day", "part", "kind", "role"), "string"),
    "is_outermost": "bool",
    **dict.fromkeys(("reason", "culprit", "culprit_role", "pattern"), "string"),
    "bucket": "int32",
    **dict.fromkeys(("n", "n_blocked", "dur_ns", "blocked_ns", "max_ns"), "int64"),
}
"""Columns with Arrow's names of their types; docs/fleet.md says what they mean."""

EXEMPLARS_MAX = 5
NAMED_MAX = 200
"""Culprits and patterns with rows of their own; those that delayed least are ``other``."""


def header_of(store: Store, *, host: str = "", day: str = "") -> SummaryHeader:
    """Return the header of a recording's summary; *host* and *day* replace what it says itself."""
    meta = facts(store)
    machine = meta.get("host", {})
    begin_ns = int(meta.get("clock", {}).get("started_realtime_ns") or 0)
    if not (begin_ns or day):
        raise FleetError(f"{store.name} does not say when it was recorded: give --day 2026-01-31.")
    losses = {probe: list(counts) for probe, *counts in store.query(query("fleet/losses"))}
    ((n_unfinished,),) = store.query(query("latencies/unfinished"))
    return SummaryHeader(
        recording=recording_digest(store),
        host=host or machine.get("name") or "unknown",
        day=day or day_of(begin_ns),
        begin_ns=begin_ns,
        dur_ns=extent(store).dur_ns,
        kernel=machine.get("kernel", ""),
        machine=machine.get("machine", ""),
        n_cpus=int(machine.get("n_cpus") or 0),
        rcp=meta.get("rcp_version", ""),
        is_virtual=bool(meta.get("clock", {}).get("virtual")),
        n_written=sum(counts[0] for counts in losses.values()),
        n_lost=sum(counts[1] for counts in losses.values()),
        n_missing=sum(counts[2] for counts in losses.values()),
        n_requests_lost=sum(losses.get("request", [0, 0, 0])[1:]),
        n_unfinished=int(n_unfinished),
        incomplete=incomplete(meta),
        losses=losses,
        exemplars=[
            Exemplar(*row) for row in store.query(query("fleet/exemplars"), [EXEMPLARS_MAX])
        ],
    )


def make_entries(store: Store, named_max: int = NAMED_MAX) -> None:
    """Make the table ``entry``, which only this connection sees: what each request adds to rows."""
    store.write(query("fleet/entries"), [named_max, *bounds()])


def rows_of(store: Store) -> dict[str, npt.NDArray[Any]]:
    """Return the additive rows of a recording by column, the parts one after the other."""
    make_entries(store)
    return store.arrays(query("fleet/rows"))


def write_summary(
    header: SummaryHeader, rows: Mapping[str, npt.NDArray[Any]], target: Path
) -> None:
    """Write a summary, which appears at *target* when it is complete."""
    with atomic_replace(target) as temporary:
        write_row_groups(
            temporary,
            COLUMNS,
            [_group(header, rows, np.isin(rows["part"], parts)) for parts in ROW_GROUPS],
            {KEY: header.as_json()},
            _WITH_BOUNDS,
        )


def _group(
    header: SummaryHeader, rows: Mapping[str, npt.NDArray[Any]], chosen: npt.NDArray[np.bool_]
) -> dict[str, Column]:
    """Return some rows with their host and day, for engines that read no file names."""
    n = int(chosen.sum())
    own: dict[str, Column] = {
        "host": np.full(n, header.host, object),
        "day": np.full(n, header.day, object),
    }
    return own | {name: column[chosen] for name, column in rows.items()}
