"""Reads the foreground requests of a recording of rcp, by kind.

The result ``background`` is the bytes/s of all ios that are not foreground work.

Requests are timed from their actual start, not from their intended one: only the client's own
figures show that it fell behind its schedule.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rcp.analyzer.db.queries import query
from rcp.analyzer.latencies.declared import CLOSED, EVERYTHING, Form, Format
from rcp.analyzer.latencies.latency import Latencies, LatencyError, needed_to_read
from rcp.analyzer.text import plural
from rcp.probes.contract.percent import percent
from rcp.probes.contract.spool import PACKED_SUFFIX, is_spool

if TYPE_CHECKING:
    from rcp.analyzer.db.store import Store

_DUCKDB_MAGIC = b"DUCK"
_MAGIC_OFFSET = 8  # after a checksum

# As the report counts them (analyzer/reports/answer.py): a sync inside a transaction belongs to the
# transaction, unless that never finished; a request inside one of its own kind is another client's.
REQUESTS = """
    SELECT request.request_id, request.name, request.ts, request.dur,
        parent.dur IS NULL OR parent.name = request.name AS is_outermost
    FROM request
    JOIN task USING (utid)
    LEFT JOIN request AS parent ON parent.request_id = request.parent_request_id
    WHERE task.role = 'foreground' AND request.dur IS NOT NULL
"""
_NAMES_QUERY = "SELECT DISTINCT name FROM request ORDER BY 1"
_REQUESTS_QUERY = f"""
    SELECT list_position(?, name) AS kind, ts, judged.dur, is_outermost,
        if(?, coalesce(others.dur, 0), 0) AS others
    FROM ({REQUESTS}) AS judged LEFT JOIN ({query("latencies/others")}) AS others USING (request_id)
    ORDER BY ts, judged.dur
"""


def is_recording(path: Path, head: bytes) -> bool:
    """Whether a path is a store, a spool folder, or a packed spool."""
    is_store = head[_MAGIC_OFFSET : _MAGIC_OFFSET + len(_DUCKDB_MAGIC)] == _DUCKDB_MAGIC
    return is_store or is_spool(path) or path.name.endswith(PACKED_SUFFIX)


def read(path: Path) -> Latencies:
    """Return the foreground requests of a recording; raise LatencyError."""
    with needed_to_read(path):
        from rcp.analyzer.db.store import StoreError
        from rcp.analyzer.loading.opening import open_recording
    try:
        with open_recording(path) as store:
            return of_store(store, path)
    except StoreError as error:
        raise LatencyError(str(error)) from error


def of_store(store: Store, path: Path, *, without_others: bool = False) -> Latencies:
    """Return the foreground requests of an open recording; raise LatencyError.

    *without_others* takes from each request the time for which tasks of no role held it up.
    """
    names = [name for (name,) in store.query(_NAMES_QUERY)]
    rows = store.arrays(_REQUESTS_QUERY, [names, without_others])
    if not len(rows["dur"]):
        raise LatencyError(
            f"{path} has no finished foreground requests: record longer, or set the roles of "
            "threads with `rcp-trace roles`."
        )
    kinds, durations = rows["kind"], rows["dur"].astype(np.int64)
    ends = rows["ts"] + durations
    others = np.minimum(rows["others"].astype(np.int64), durations)
    told = f"{path}: less {percent(others.sum() / max(durations.sum(), 1))} of the requests' time"
    noted = (f"{told}, for which tasks of no role held them up",) if without_others else ()
    durations = durations - others
    return Latencies(
        str(path),
        {
            name: durations[kinds == place]
            for place, name in enumerate(names, 1)
            if (kinds == place).any()
        },
        warnings=(*_warnings(store, path), *noted),
        values=_values(store),
        interval_s=(float(rows["ts"].min()) / 1e9, float(ends.max()) / 1e9),
        outermost=durations[rows["is_outermost"].astype(bool)],
    )


def _values(store: Store) -> dict[str, float]:
    from rcp.analyzer.db.meta import extent

    ((moved,),) = store.query(query("latencies/background"))
    dur_ns = extent(store).dur_ns
    return {"background": moved * 1e9 / dur_ns} if dur_ns else {}


def _warnings(store: Store, path: Path) -> tuple[str, ...]:
    found = []
    ((lost, written),) = store.query(query("latencies/lost"))
    if lost:
        found.append(
            f"{path}: {lost} of {lost + written} requests were lost: the tail may be longer"
        )
    ((unfinished,),) = store.query(query("latencies/unfinished"))
    if unfinished:
        found.append(
            f"{path}: {plural(unfinished, 'foreground request')} did not finish: not judged"
        )
    return tuple(found)


RECORDING_FORMAT = Format(
    "recording",
    is_recording,
    "ns",
    (
        Form(
            "`.duckdb`, spool folder, `.spool.tar.xz`",
            "the recorded syscalls, probe points or sockets",
            CLOSED,
            EVERYTHING,
        ),
    ),
    read=lambda path, name, unit: read(path),
)
