"""Runs a user's query: until it is interrupted, or with limits on time, memory and rows."""

from __future__ import annotations

import contextlib
import os
from concurrent.futures import Future, wait
from threading import Thread
from typing import NamedTuple

from rcp.analyzer.db.store import Result, Store, StoreError
from rcp.probes.contract.boundary import EXIT_INTERRUPTED

_GRACE_S = 2.0
"""Time for a query to stop after an interrupt; nearly all need less than a tenth of it."""

_MEMORY = "1GB"
_SPILLED = "1GB"


class Limits(NamedTuple):
    """Limits of a query."""

    seconds: float
    rows: int


def _limit_memory(store: Store) -> None:
    # Refused when an earlier query locked the settings, or when the store already uses more.
    with contextlib.suppress(StoreError):
        store.write(f"SET memory_limit = '{_MEMORY}'")
    with contextlib.suppress(StoreError):
        store.write(f"SET max_temp_directory_size = '{_SPILLED}'")


def _started(own: Store, sql: str, rows_max: int | None) -> Future[Result]:
    """Start a query in a thread of its own, which closes the store *own*.

    So whoever waits can be interrupted, and need not wait for the few SQL functions that ignore an
    interrupt: the thread is left behind.
    """
    answer: Future[Result] = Future()

    def work() -> None:
        try:
            answer.set_result(own.ask(sql, rows_max))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            own.close()

    Thread(target=work, daemon=True).start()
    return answer


def ask_until_interrupted(store: Store, sql: str) -> Result:
    """Run a user's query as ``Store.ask`` does; Ctrl-C stops it and raises KeyboardInterrupt."""
    own = store.beside()
    answer = _started(own, sql, None)
    try:
        return answer.result()
    except KeyboardInterrupt:
        own.interrupt()
        if wait([answer], _GRACE_S).not_done:
            os._exit(EXIT_INTERRUPTED)  # closing the store would wait for that function
        raise


def ask_within(store: Store, sql: str, limits: Limits) -> Result:
    """Run a user's query as ``Store.ask`` does; raise StoreError when it takes too long."""
    _limit_memory(store)
    own = store.beside()
    answer = _started(own, sql, limits.rows)
    try:
        return answer.result(limits.seconds)
    except TimeoutError:
        own.interrupt()
    with contextlib.suppress(StoreError, TimeoutError):
        return answer.result(_GRACE_S)
    raise StoreError(
        f"the query was stopped after {limits.seconds:g} s: query fewer requests, or run it "
        "without a limit by `rcp-trace sql`."
    )
