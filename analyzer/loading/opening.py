"""Opens any kind of recording: a store, a spool folder, or a packed spool."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rcp.analyzer.db.store import Store, StoreError, open_store
from rcp.analyzer.loading.load import load_in_memory
from rcp.probes.contract.spool import PACKED_SUFFIX, SpoolError, is_spool, unpack


def open_recording(path: Path, *, commented: bool = False) -> Store:
    """Open a recording as a store, a spool in memory; raise StoreError.

    A store in memory has comments on its tables and columns only if it is to be *commented*.
    """
    try:
        if path.is_dir() or is_spool(path):
            return load_in_memory(path, commented=commented)
        if path.exists() and path.name.endswith(PACKED_SUFFIX):
            with tempfile.TemporaryDirectory(prefix="rcp-") as folder:
                return load_in_memory(unpack(path, Path(folder)), str(path), commented=commented)
    except SpoolError as error:
        raise StoreError(str(error)) from error
    return open_store(path)
