"""Asks many recordings by the workers of a Dask cluster. The only module that imports distributed.

The workers need rcp, and the recordings under the same path. Dask sees the rows of answers
only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcp.analyzer.fleet.errors import FleetError
from rcp.analyzer.fleet.spread.partition import Partial, ask_partition
from rcp.probes.contract.cli_error import one_clause

RETRIES = 2
"""How often a recording is asked again after an error of the cluster."""

_CONNECT_S = 10


def ask_by_dask(paths: Mapping[str, str], sql: str, address: str) -> dict[str, Partial]:
    """Ask each of the recordings *paths* (by name); raise FleetError when there is no cluster.

    The scheduler gives a task of a worker that died to another one.
    """
    try:
        import distributed
    except ImportError as error:
        raise FleetError("--dask needs Dask's distributed: install rcp-trace[dask].") from error
    try:
        client = _untyped(distributed).Client(address, timeout=_CONNECT_S, set_as_default=False)
    except (OSError, ValueError) as error:
        why = one_clause(str(error)) or type(error).__name__
        raise FleetError(
            f"no Dask scheduler answers at {address} ({why}): start one with `dask scheduler`."
        ) from error
    with client:
        names = list(paths)
        futures = client.map(
            ask_partition, list(paths.values()), [sql] * len(names), retries=RETRIES, pure=False
        )
        by_key = {future.key: name for future, name in zip(futures, names, strict=True)}
        found = {}
        for future in _untyped(distributed).as_completed(futures, loop=client.loop):
            found[by_key[future.key]] = _answer(future)
        return found


def _answer(future: Any) -> Partial:
    if future.status != "error":
        answer: Partial = future.result()
        return answer
    error = future.exception()
    return Partial(b"", one_clause(str(error)) or type(error).__name__)


def _untyped(module: Any) -> Any:
    """Return Dask's module, whose functions have types in part only."""
    return module
