"""Runs a user's query: until it is interrupted, or with limits on time, memory and rows."""

from __future__ import annotations

import contextlib
import os
import time
from concurrent.futures import Future
from threading import Thread
from typing import NamedTuple

from rcp.analyzer.db.store import Result, Store, StoreError
from rcp.probes.contract.boundary import EXIT_INTERRUPTED

_GRACE_S = 2.0
"""Time for a query to stop after an interrupt; nearly all need less than a tenth of it."""

_INTERRUPT_EVERY_S = 0.05

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


class _Started:
    """A query in a thread of its own, which closes the store *own*.

    So whoever waits can be interrupted, and need not wait for the few SQL functions that ignore an
    interrupt: the thread is left behind.
    """

    def __init__(self, own: Store, sql: str, rows_max: int | None) -> None:
        self._own = own
        self._answer: Future[Result] = Future()
        self._thread = Thread(target=self._work, args=(sql, rows_max), daemon=True)
        self._thread.start()

    def _work(self, sql: str, rows_max: int | None) -> None:
        try:
            self._answer.set_result(self._own.ask(sql, rows_max))
        except BaseException as error:
            self._answer.set_exception(error)
        finally:
            self._own.close()

    def result(self, seconds: float | None = None) -> Result:
        """Wait for the answer and for the end of the thread; raise what the query raised.

        TimeoutError: there is no answer after that time.
        """
        try:
            return self._answer.result(seconds)
        finally:
            # DuckDB aborts the process if Python ends while a thread closes a connection.
            if self._answer.done():
                self._thread.join()

    def stops_within(self, seconds: float) -> bool:
        """Interrupt the query until its thread has ended, or that long; tell whether it has.

        Once is not enough: DuckDB forgets an interrupt that comes before it begins with the query.
        """
        until_s = time.monotonic() + seconds
        while self._thread.is_alive() and time.monotonic() < until_s:
            self._own.interrupt()
            self._thread.join(_INTERRUPT_EVERY_S)
        return not self._thread.is_alive()


def ask_until_interrupted(store: Store, sql: str) -> Result:
    """Run a user's query as ``Store.ask`` does; Ctrl-C stops it and raises KeyboardInterrupt."""
    started = _Started(store.beside(), sql, None)
    try:
        return started.result()
    except KeyboardInterrupt:
        if not started.stops_within(_GRACE_S):
            os._exit(EXIT_INTERRUPTED)  # closing the store would wait for that function
        raise


def ask_within(store: Store, sql: str, limits: Limits) -> Result:
    """Run a user's query as ``Store.ask`` does; raise StoreError when it takes too long."""
    _limit_memory(store)
    started = _Started(store.beside(), sql, limits.rows)
    with contextlib.suppress(TimeoutError):
        return started.result(limits.seconds)
    if started.stops_within(_GRACE_S):
        with contextlib.suppress(StoreError):
            return started.result()
    raise StoreError(
        f"the query was stopped after {limits.seconds:g} s: query fewer requests, or run it "
        "without a limit by `rcp-trace sql`."
    )
