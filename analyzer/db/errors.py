"""What can go wrong with a store; apart from the store, because the lab has no DuckDB."""

from __future__ import annotations

import re

from rcp.probes.contract.cli_error import one_clause
from rcp.probes.contract.user_error import UserError

LOAD_AGAIN = "load its spool again with `rcp-trace recover`, or record anew"


class StoreError(UserError):
    """A store cannot be made, opened or asked; the message names the thing and the remedy."""


class StoreBusyError(StoreError):
    """Another process has the file open: for writing, or while it is to be opened for writing."""


def said_by_duckdb(error: Exception) -> str:
    """Return DuckDB's message without its kind, caret drawing and line breaks."""
    text = re.sub(r"\n+LINE \d+:.*", "", str(error), flags=re.DOTALL)
    text = re.sub(r"^[\w ]+ Error: ", "", text)
    return one_clause(text)


def damaged(name: object, fault: str, remedy: str = LOAD_AGAIN) -> StoreError:
    """Return the error for a file whose contents are not as they were written."""
    return StoreError(f"{name} is damaged: {fault}: {remedy}.")


_unverified = ""
"""The store or spool that this process opened last whose contents no checksum vouches for."""


def note_unverified(name: str) -> None:
    """Note that values in the store or spool *name* may be other than rcp wrote them."""
    global _unverified
    _unverified = name


def damage_message(error: Exception) -> str | None:
    """Return what to print for an error that nobody foresaw; None if no file can be the cause.

    DuckDB checks blocks, not values: a block of another store, or a table that somebody changed,
    leads to errors anywhere. After an unverified store or spool was opened, any error may be one.
    """
    if not _unverified:
        return None
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return (
        f"{_unverified} is damaged, or was changed since, or rcp has a fault ({what}): "
        "restore it from a copy, or set RCP_TRACEBACK=1 to see where"
    )
