"""The store: one DuckDB file per recording. The only module that imports duckdb.

A store is written once, by loading a spool, and afterwards opened read-only.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt

from rcp.analyzer.db.arrow import Column, as_arrow
from rcp.analyzer.db.modules import read_modules

STORE_VERSION = 4
"""Raised when a table or column changes its meaning, goes away, or is one that reports ask for."""

BATCH_ROWS = 500_000
"""Rows per Arrow batch: above some 100,000, DuckDB writes row groups past its log; batches
of 65,536 rows load at two thirds of the speed."""

_N_INSERTERS = 2
"""Tables filled at a time; more would hold more copies in memory than they gain."""

_READING = frozenset(("SELECT", "EXPLAIN"))

Row = TypeVar("Row", bound=tuple[Any, ...])


class StoreError(Exception):
    """A store cannot be made, opened or asked; the message names the thing and the remedy."""


class StoreBusyError(StoreError):
    """Another process has the file open, to write it or while it is to be written."""


@dataclass(frozen=True)
class Result:
    """Rows of a query with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool = False
    """There are more rows, which were not read."""


def _one_line(error: Exception) -> str:
    """Return DuckDB's message without its kind, caret drawing and line breaks."""
    text = re.sub(r"\n+LINE \d+:.*", "", str(error), flags=re.DOTALL)
    text = re.sub(r"^[\w ]+ Error: ", "", text)
    return re.sub(r"\s+", " ", text).strip().rstrip(".")


class Store:
    """An open store."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, name: str) -> None:
        """Wrap a connection; use ``create`` or ``open_store``."""
        self._connection = self._asking = connection
        self.name = name

    @classmethod
    def create(
        cls, path: Path | None, name: str = "", schema: Sequence[str] | None = None
    ) -> Store:
        """Make a store with its schema at ``path``, in memory without one.

        Errors call it ``name``, which is for a path the user did not choose. *schema* holds the
        statements for a store of something else than a recording.
        """
        name = name or str(path or "the store in memory")
        try:
            connection = duckdb.connect(
                str(path) if path else ":memory:", config={"autoinstall_known_extensions": "false"}
            )
        except duckdb.Error as error:
            raise StoreError(f"{name} cannot be written: {_one_line(error)}.") from error
        # Below this the log is checkpointed while loading, which stalls inserts.
        connection.execute("SET checkpoint_threshold = '1GB'")
        store = cls(connection, name)
        for text in schema or [module.text for module in read_modules()]:
            connection.execute(text)
        return store

    def __enter__(self) -> Store:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the store."""
        self.close()

    def beside(self) -> Store:
        """Return the same store for another thread, to be closed by it."""
        return Store(self._connection.cursor(), self.name)

    def close(self) -> None:
        """Write everything to disk and close; raises StoreError when the disk is full."""
        try:
            self._connection.close()
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {_one_line(error)}.") from error

    def insert(self, tables: Mapping[str, Mapping[str, Column]]) -> int:
        """Append rows to tables, given by column; return how many.

        DuckDB compresses an insert on one core, so tables are filled side by side.
        """
        with ThreadPoolExecutor(_N_INSERTERS) as pool:
            return sum(pool.map(self._insert, tables.keys(), tables.values()))

    def _insert(self, table: str, columns: Mapping[str, Column]) -> int:
        incoming = as_arrow(columns, BATCH_ROWS)
        if incoming.num_rows == 0:
            return 0
        names = ", ".join(f'"{name}"' for name in columns)
        cursor = self._connection.cursor()  # a connection serves one thread
        cursor.register("_incoming", incoming)
        try:
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM _incoming")
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {_one_line(error)}.") from error
        finally:
            cursor.close()
        return int(incoming.num_rows)

    def copy(self, source: Path, names: Iterable[str]) -> None:
        """Append whole tables of the store at ``source``, which must not be open elsewhere here."""
        path = str(source).replace("'", "''")
        try:
            self._connection.execute(f"ATTACH '{path}' AS _source (READ_ONLY)")
            for name in names:
                self._connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM _source.{name}")
            self._connection.execute("DETACH _source")
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {_one_line(error)}.") from error

    def arrays(self, sql: str, parameters: Sequence[Any] = ()) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of one of rcp's own queries, none of which may hold a NULL."""
        try:
            found = self._connection.execute(sql, list(parameters)).fetchnumpy()
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be read: {_one_line(error)}.") from error
        return {name: np.asarray(values) for name, values in found.items()}

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one of rcp's own queries."""
        return self._connection.execute(sql, list(parameters)).fetchall()

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run one of rcp's own statements that change the store, whole or not at all."""
        try:
            self._connection.execute(sql, list(parameters))
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {_one_line(error)}.") from error

    def rows(self, kind: type[Row], sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one of rcp's own queries as ``kind``, a NamedTuple."""
        return [kind(*row) for row in self.query(sql, parameters)]

    def tables(self) -> list[str]:
        """Return the names of the tables, without the views."""
        return [name for (name,) in self.query("SELECT table_name FROM duckdb_tables() ORDER BY 1")]

    def write_parquet(self, table: str, target: Path) -> int:
        """Write a table to a Parquet file, replacing one; return the number of rows.

        It appears when it is complete. Raises StoreError when it cannot be written.
        """
        temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
        name = str(temporary).replace("'", "''")
        copy = f"COPY (SELECT * FROM {table}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
        try:
            ((n_rows,),) = self.query(copy)
            temporary.replace(target)
        except duckdb.Error as error:
            raise StoreError(f"{target} cannot be written: {_one_line(error)}.") from error
        finally:
            temporary.unlink(missing_ok=True)
        return int(n_rows)

    def _check_reading(self, sql: str) -> None:
        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            raise StoreError(f"bad SQL: {_one_line(error)}.") from error
        if len(statements) != 1:
            raise StoreError(f"expected one SQL statement, got {len(statements)}: ask one by one.")
        kind = statements[0].type.name
        if kind not in _READING:
            raise StoreError(
                f"a recording is only read, {kind} would change it: "
                "copy the file and use the duckdb shell to change the copy."
            )

    def ask(self, sql: str, rows_max: int | None = None) -> Result:
        """Run a user's query: one statement that only reads, of this store and no file."""
        self._check_reading(sql)
        try:
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except duckdb.InvalidInputException:
            pass  # locked by an earlier question
        # EXPLAIN ANALYZE runs what it explains, whatever that is; and not to read all rows of a
        # result needs a connection of its own.
        with self._connection.cursor() as cursor:
            self._asking = cursor
            try:
                cursor.execute("BEGIN TRANSACTION READ ONLY")
                found = cursor.execute(sql)
                names = [column[0] for column in found.description or ()]
                rows = found.fetchall() if rows_max is None else found.fetchmany(rows_max + 1)
            except duckdb.Error as error:
                raise StoreError(f"bad SQL: {_one_line(error)}.") from error
        is_cut = rows_max is not None and len(rows) > rows_max
        return Result(names, rows[:rows_max], is_cut)

    def interrupt(self) -> None:
        """Stop the query another thread asks of this store; it then raises StoreError."""
        self._asking.interrupt()


def _version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    try:
        row = connection.execute("SELECT value FROM meta WHERE key = 'store_version'").fetchone()
    except duckdb.Error:
        row = None
    if row is None:
        raise StoreError(
            f"{path} is a DuckDB file but not a recording of rcp: "
            "load one with `rcp-trace recover SPOOL -o FILE`."
        )
    return int(row[0])


def _connect(path: Path, *, read_only: bool, not_ours: str) -> duckdb.DuckDBPyConnection:
    try:
        return duckdb.connect(
            str(path), read_only=read_only, config={"autoinstall_known_extensions": "false"}
        )
    except duckdb.Error as error:
        message = _one_line(error)
        if "lock" in message.lower():
            doing = "being written" if read_only else "held open"
            raise StoreBusyError(f"{path} is {doing} by another process: try again.") from error
        if "not a valid DuckDB" in message:
            raise StoreError(not_ours) from error
        raise StoreError(f"{path} cannot be opened, it may be damaged: {message}.") from error


def open_other(path: Path, not_ours: str, *, read_only: bool) -> Store:
    """Open a store of something else than a recording, whose contents the caller checks."""
    return Store(_connect(path, read_only=read_only, not_ours=not_ours), str(path))


def open_store(path: Path) -> Store:
    """Open a store read-only; raise StoreError when it is none, or of another rcp."""
    if not path.exists():
        raise StoreError(f"{path} does not exist: `rcp-trace record` makes a recording.")
    connection = _connect(
        path,
        read_only=True,
        not_ours=f"{path} is not a recording: neither a DuckDB file nor a spool; "
        "`rcp-trace record` makes one.",
    )
    try:
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
    return Store(connection, str(path))
