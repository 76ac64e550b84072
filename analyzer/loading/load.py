"""Loads a spool into a store and computes critical paths and inversions.

A store appears under its name only when it is complete, and the spool is never changed. So a load
that fails (full disk, signal) loses nothing and can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.chunked import reuse_memory
from rcp.analyzer.arrays.roles import RoleError, RoleRule, cmdlines_at_exit, parse_rules
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.causes import Causes, io_causes
from rcp.analyzer.blame.inversions import Inversions, find_inversions
from rcp.analyzer.db.errors import note_unverified
from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.modules import read_schema
from rcp.analyzer.db.seal import seal
from rcp.analyzer.db.store import STORE_VERSION, Store, StoreError
from rcp.analyzer.loading import records, verdicts, who_and_where
from rcp.analyzer.loading.found import Found, Missing, found_in, recorded_share
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.messages import Messages
from rcp.analyzer.paths.segments import Paths
from rcp.analyzer.paths.threads import paths_of
from rcp.probes.contract.atomic import atomic_replace
from rcp.probes.contract.events import CMDLINE, SOCKET_REQUEST_NR
from rcp.probes.contract.spool import Spool, open_spool

_NAMES_OF_REQUESTS = ("request_syscalls", "request_points")


def request_names(meta: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of the recorded kinds of request by ``request.nr``."""
    names = {SOCKET_REQUEST_NR: "socket"}
    for key in _NAMES_OF_REQUESTS:
        names |= {int(number): str(name) for number, name in meta.get(key, {}).items()}
    return names


def _check(spool: Spool) -> None:
    """Raise StoreError when ``meta.json`` is not of the expected shape."""
    shapes = {
        "roles": list,
        "request_syscalls": dict,
        "request_points": dict,
        "devices": dict,
        "device_labels": dict,
        "host": dict,
        "clock": dict,
        "cmdlines": dict,
    }
    for key, shape in shapes.items():
        if not isinstance(spool.meta.get(key, shape()), shape):
            raise StoreError(
                f"{spool.path / 'meta.json'} is damaged: {key!r} is no {shape.__name__}."
            )
    for key in (*_NAMES_OF_REQUESTS, "devices", "cmdlines"):
        if not all(number.isdigit() for number in spool.meta.get(key, {})):
            raise StoreError(f"{spool.path / 'meta.json'} is damaged: {key!r} has no numbers.")


def _meta_at_end(spool: Spool) -> dict[str, Any]:
    """Return ``meta.json`` with the facts that were known only at the end of the recording."""
    at_exit = cmdlines_at_exit(spool.records(CMDLINE))
    return {**spool.meta, "cmdlines_at_exit": at_exit, "end": spool.end}


def role_rules(spool: Spool) -> list[RoleRule]:
    """Return the role rules of a spool; raise StoreError when they are damaged."""
    try:
        return parse_rules(_meta_at_end(spool))
    except RoleError as error:
        raise StoreError(f"{spool.path / 'meta.json'} is damaged: {error}.") from error


def read_trace(spool: Spool, found: Found | None = None) -> Trace:
    """Return the records of a spool, given as *found* or read, as columns."""
    reuse_memory()
    rows = (found or found_in(spool)).rows
    return build_trace(rows, role_rules(spool), spool.stacks())


def _extent(trace: Trace) -> tuple[int, int]:
    """Return the first and last time in the events, (0, 0) without events; in ns."""
    seen = ~trace.sleeps.first_seen
    ends: list[npt.NDArray[np.int64]] = [
        trace.sleeps.ts[seen],
        trace.sleeps.run,
        trace.ios.queued,
        trace.ios.completed,
        trace.requests.ts,
        trace.requests.ts + np.maximum(trace.requests.dur, 0),
    ]
    ends = [times for times in ends if len(times)]
    if not ends:
        return 0, 0
    return min(int(t.min()) for t in ends), max(int(t.max()) for t in ends)


def _facts(spool: Spool, trace: Trace, missing: Mapping[str, Missing]) -> dict[str, Any]:
    first_ns, last_ns = _extent(trace)
    return {
        **_meta_at_end(spool),
        "store_version": STORE_VERSION,
        "spool": spool.path.name,
        "torn_bytes": spool.torn_bytes,
        "has_checksums": spool.is_covered,
        "missing": missing,
        "damage": spool.damage,
        "first_event_ns": first_ns,
        "last_event_ns": last_ns,
        "recorded_share": recorded_share(spool.counters, missing),
    }


def insert_records(store: Store, spool: Spool, trace: Trace, missing: Mapping[str, Missing]) -> int:
    """Insert all records but requests; return the number of rows."""
    rules = role_rules(spool)
    names = spool.meta.get("devices", {})
    shown = who_and_where.labelled(names, spool.meta.get("device_labels", {}))
    return store.insert(
        {
            **{table: columns(trace) for table, columns in records.TABLES.items()},
            "meta": who_and_where.meta(_facts(spool, trace, missing)),
            "task": who_and_where.task(trace.tasks),
            "role_rule": who_and_where.role_rule(rules, trace.tasks),
            "stack": who_and_where.stack(spool.stacks()),
            "device": who_and_where.device(names, shown),
            "loss": who_and_where.loss(spool.counters, missing),
            "file": records.file(trace, names),
        }
    )


def insert_verdicts(
    store: Store,
    trace: Trace,
    paths: Paths,
    causes: Causes,
    inversions: Inversions,
    names: Mapping[int, str],
) -> int:
    """Insert requests, their paths and inversions; return the number of rows."""
    return store.insert(
        {
            "segment": verdicts.segment(trace, paths),
            "edge": verdicts.edge(trace, paths),
            "request": verdicts.request(trace, paths, names),
            "inversion": verdicts.inversion(trace, inversions),
            "io_share": verdicts.io_share(trace, causes),
        }
    )


def fill(store: Store, spool: Spool) -> None:
    """Load ``spool`` into a new, empty store."""
    found = found_in(spool)
    trace = read_trace(spool, found)
    names = request_names(spool.meta)
    insert_records(store, spool, trace, found.missing)
    analyze(store, trace, names, recorded_share(spool.counters, found.missing))


def analyze(store: Store, trace: Trace, names: Mapping[int, str], share: float) -> None:
    """Insert requests with their paths and inversions.

    ``share`` (0 to 1) of the records that verdicts rest on was recorded.
    """
    messages = Messages.of(trace.sleeps, trace.tasks)
    paths = paths_of(trace, messages)
    causes = io_causes(trace, messages)
    inversions = find_inversions(trace, paths, causes, names, share)
    insert_verdicts(store, trace, paths, causes, inversions, names)


def _open_checked(path: Path) -> Spool:
    spool = open_spool(path)
    _check(spool)
    note_unverified(str(path))
    return spool


def load_in_memory(spool_path: Path, name: str = "", *, commented: bool = False) -> Store:
    """Load a spool into a store in memory; raise SpoolError when the spool cannot be used.

    *name* is what errors call it, by default its path. Tables and columns are *commented* for those
    who look at them by name.
    """
    store = Store.create(None, name or str(spool_path), read_schema(commented=commented))
    try:
        fill(store, _open_checked(spool_path))
    except BaseException:
        store.close()
        raise
    return store


def load_spool(spool_path: Path, target: Path) -> dict[str, Any]:
    """Load a spool into a store at ``target``, replacing one; return its facts (``db.meta``).

    Raises SpoolError when the spool cannot be used and StoreError when the store cannot be
    written; the spool and an older store at ``target`` are unchanged then.
    """
    spool = _open_checked(spool_path)
    with new_store(target) as store:
        fill(store, spool)
        return facts(store)


@contextmanager
def new_store(target: Path) -> Iterator[Store]:
    """Yield a new store, which becomes or replaces ``target`` when the block ends well.

    Raises StoreError when it cannot be written; ``target`` is unchanged then.
    """
    try:
        with atomic_replace(target) as temporary:
            try:
                with Store.create(temporary, str(target)) as store:
                    yield store
                seal(temporary)
            finally:  # DuckDB removes its log only when it closes well
                temporary.with_name(f"{temporary.name}.wal").unlink(missing_ok=True)
    except OSError as error:
        raise StoreError(f"{target} cannot be written: {error.strerror}.") from error
