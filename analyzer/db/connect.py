"""Connects to a DuckDB file of unknown kind, and tells one that is no recording by what it is."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import duckdb

from rcp.analyzer.db.errors import (
    LOAD_AGAIN,
    StoreBusyError,
    StoreError,
    damaged,
    note_unverified,
    said_by_duckdb,
)
from rcp.analyzer.db.seal import SealError, check_seal

STORE_VERSION = 11
"""Increased when a table or column changes its meaning or is removed, or reports need a new one."""

_STUDY_TABLES = {"trial", "knob", "verdict"}


def _something_else(connection: duckdb.DuckDBPyConnection) -> str:
    """Return what a DuckDB file is that is no recording, and what to do with it."""
    with suppress(duckdb.Error):
        tables = connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()
        if {name for (name,) in tables} >= _STUDY_TABLES:
            return "a study of rcp-tune, not a recording: read it with `rcp-tune explain`"
    return (
        "a DuckDB file but not a recording of rcp: load one with `rcp-trace recover SPOOL -o "
        "FILE`, or restore a damaged one from a copy"
    )


def _version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'store_version'").fetchone()
    except duckdb.ProgrammingError:  # another database, without such a table or column
        row = None
    except duckdb.Error as error:
        raise damaged(path, said_by_duckdb(error)) from error
    if row is None or not str(row[0]).isdecimal():
        raise StoreError(f"{path} is {_something_else(connection)}.")
    return int(row[0])


def _check_size(connection: duckdb.DuckDBPyConnection, path: Path) -> None:
    """Raise StoreError when blocks are missing at the end; DuckDB tells only when it reads them."""
    try:
        row = connection.execute(
            "SELECT used_blocks * block_size FROM pragma_database_size()"
        ).fetchone()
    except duckdb.Error as error:
        raise damaged(path, said_by_duckdb(error)) from error
    if row and row[0] > path.stat().st_size:
        raise damaged(path, "its end is missing")


def _connect(
    path: Path, *, read_only: bool, not_ours: str, remedy: str = LOAD_AGAIN
) -> duckdb.DuckDBPyConnection:
    """Connect to a DuckDB file; *not_ours* is the error for a file that is none."""
    try:
        return duckdb.connect(
            str(path), read_only=read_only, config={"autoinstall_known_extensions": "false"}
        )
    except duckdb.Error as error:
        message = said_by_duckdb(error)
        if "could not set lock" in message.lower():  # damage is "in block at location"
            doing = "being written" if read_only else "held open"
            raise StoreBusyError(f"{path} is {doing} by another process: try again.") from error
        if "not a valid DuckDB" in message:
            raise StoreError(not_ours) from error
        raise damaged(path, message, remedy) from error


def _check_file(path: Path) -> None:
    """Raise StoreError for a name that DuckDB refuses, and for a pipe or the like."""
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise StoreError(f"{path} has a name that is not UTF-8: rename it.") from error
    if path.exists() and not path.is_file():
        raise StoreError(f"{path} is not a regular file.")


def connect_other(
    path: Path, not_ours: str, read_only: bool, remedy: str
) -> duckdb.DuckDBPyConnection:
    """Connect to a file that is no recording, whose contents the caller checks."""
    _check_file(path)
    connection = _connect(path, read_only=read_only, not_ours=not_ours, remedy=remedy)
    note_unverified(str(path))
    return connection


def connect_recording(path: Path) -> duckdb.DuckDBPyConnection:
    """Connect to a recording read-only; raise StoreError for none, or one of another version."""
    if not path.exists():
        raise StoreError(f"{path} does not exist: `rcp-trace record` makes a recording.")
    _check_file(path)
    try:
        is_sealed = check_seal(path)
    except SealError as error:
        raise damaged(path, str(error)) from error
    if not is_sealed:
        note_unverified(str(path))
    connection = _connect(
        path,
        read_only=True,
        not_ours=f"{path} is not a recording: neither a DuckDB file nor a spool; "
        "`rcp-trace record` makes one.",
    )
    try:
        _check_size(connection, path)
        found = _version(connection, path)
        if found > STORE_VERSION:
            raise StoreError(
                f"{path} has store version {found}, newer than this rcp's {STORE_VERSION}: "
                "update rcp."
            )
        if found < STORE_VERSION:
            raise StoreError(
                f"{path} has store version {found}, older than this rcp's {STORE_VERSION}: "
                "load its spool again with `rcp-trace recover`, or record anew."
            )
    except StoreError:
        connection.close()
        raise
    return connection
