"""Runs a user's query on a server with limits on time, memory and rows."""

from __future__ import annotations

import contextlib
from concurrent.futures import Future
from threading import Thread
from typing import NamedTuple

from rcp.analyzer.db.store import Result, Store, StoreError

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


def ask_within(store: Store, sql: str, limits: Limits) -> Result:
    """Run a user's query as ``Store.ask`` does; raise StoreError when it takes too long.

    It runs in a thread of its own, because a few SQL functions ignore an interrupt. Then this
    function returns and leaves the thread behind.
    """
    _limit_memory(store)
    own = store.beside()
    answer: Future[Result] = Future()

    def work() -> None:
        try:
            answer.set_result(own.ask(sql, limits.rows))
        except BaseException as error:
            answer.set_exception(error)
        finally:
            own.close()

    Thread(target=work, daemon=True).start()
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
