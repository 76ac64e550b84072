"""Parquet: one file per table of a store, for data frames and query engines."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.db.store import Store


def write_parquet(store: Store, folder: Path) -> dict[str, int]:
    """Write each table to ``folder``/TABLE.parquet; return the number of rows by table."""
    folder.mkdir(parents=True, exist_ok=True)
    return {
        table: store.write_parquet(table, folder / f"{table}.parquet") for table in store.tables()
    }
