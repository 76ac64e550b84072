"""Parquet: one file per table of a store, for data frames and query engines."""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

from rcp.analyzer.db.errors import StoreError
from rcp.analyzer.db.store import Store

# DuckDB says it in a sentence, or in JSON if one of its threads wrote. It names the temporary.
_REASON = re.compile(r'\.new\\?": ([^"\n]+)')


def write_parquet(store: Store, folder: Path) -> dict[str, int]:
    """Write each table to ``folder``/TABLE.parquet; return the number of rows by table.

    Where that fails, which raises StoreError or OSError, the files and folders that it made are
    removed.
    """
    new_folders = [path for path in (folder, *folder.parents) if not path.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    targets = {table: folder / f"{table}.parquet" for table in store.tables()}
    new_files = [target for target in targets.values() if not target.exists()]
    try:
        return {table: _write(store, table, target) for table, target in targets.items()}
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            for file in new_files:
                file.unlink(missing_ok=True)
            for path in new_folders:
                path.rmdir()
        raise


def _write(store: Store, table: str, target: Path) -> int:
    try:
        return store.write_parquet(table, target)
    except StoreError as error:
        if reason := _REASON.search(str(error.__cause__)):
            raise StoreError(f"{target}: {reason[1]}.") from error
        raise
