"""What can go wrong with a store; apart from the store, because the lab has no DuckDB."""

from __future__ import annotations


class StoreError(Exception):
    """A store cannot be made, opened or asked; the message names the thing and the remedy."""


class StoreBusyError(StoreError):
    """Another process has the file open: for writing, or while it is to be opened for writing."""
