"""Asks many recordings by processes of this machine.

A process that dies (out of memory, a fault of a library) takes the pool with it. What was not
answered is asked again by a new pool, then one recording at a time, so that only the one that kills
is named.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool

from rcp.analyzer.fleet.spread.partition import Partial, ask_partition

DIED = "its worker died, three times: out of memory, or a fault of rcp"


def _ignore_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers


def _round(
    paths: Mapping[str, str], names: Sequence[str], sql: str, n_workers: int
) -> Iterator[tuple[str, Partial]]:
    """Ask recordings; yield what was answered before the pool broke, if it did."""
    # Spawned: DuckDB has threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(n_workers, context, initializer=_ignore_ctrl_c)
    try:
        futures = {pool.submit(ask_partition, paths[name], sql): name for name in names}
        for future in as_completed(futures):
            if not isinstance(future.exception(), BrokenProcessPool):
                yield futures[future], future.result()
    except BrokenProcessPool:
        return
    except BaseException:
        for child in multiprocessing.active_children():
            child.kill()
        raise
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def ask_by_processes(
    paths: Mapping[str, str], sql: str, n_workers: int | None = None
) -> dict[str, Partial]:
    """Ask each of the recordings *paths* (by name); a worker that dies is retried."""
    n = min(n_workers or os.cpu_count() or 1, len(paths))
    found: dict[str, Partial] = {}
    for _ in range(2):
        left = [name for name in paths if name not in found]
        if left:
            found |= _round(paths, left, sql, min(n, len(left)))
    for name in [name for name in paths if name not in found]:
        found |= _round(paths, [name], sql, 1)
        found.setdefault(name, Partial(b"", DIED))
    return found
