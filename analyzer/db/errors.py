"""What can go wrong with a store; apart from the store, because the lab has no DuckDB."""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot be made, opened or asked; the message names the thing and the remedy."""


class StoreBusyError(StoreError):
    """Another process has the file open: for writing, or while it is to be opened for writing."""


_unsealed: list[str] = []
"""Stores and spools that this process opened whose contents no checksum vouches for."""


def trust_not(name: str) -> None:
    """Note that values in the store or spool *name* may be other than rcp wrote them."""
    _unsealed.append(name)


def message_of(error: Exception) -> str | None:
    """Return what to print for an error of a store, None for what is no error of a store.

    DuckDB checks blocks, not values: a block of another store, or a table that somebody changed,
    leads to errors anywhere. After an unsealed store or a spool was opened, any error may be one.
    """
    if isinstance(error, StoreError):
        return str(error)
    if not _unsealed or isinstance(error, OSError):
        return None
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"{_unsealed[-1]} is damaged, or was changed by another program ({what}): "
        "restore it from a copy, or set RCP_TRACEBACK=1 to see where"
    )
