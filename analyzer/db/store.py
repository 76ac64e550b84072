"""The store: one DuckDB file per recording. Only this module and ``connect.py`` import duckdb.

A store is written once, by loading a spool, and afterwards opened read-only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import duckdb

from rcp.analyzer.db.connect import STORE_VERSION as STORE_VERSION
from rcp.analyzer.db.connect import connect_other, connect_recording
from rcp.analyzer.db.errors import LOAD_AGAIN, damaged, said_by_duckdb
from rcp.analyzer.db.errors import StoreBusyError as StoreBusyError
from rcp.analyzer.db.errors import StoreError as StoreError
from rcp.analyzer.db.modules import read_schema
from rcp.analyzer.db.statements import refusal
from rcp.probes.contract.atomic import atomic_replace

if TYPE_CHECKING:
    # A TAB asks a store too, and has no time for these.
    import numpy.typing as npt

    from rcp.analyzer.db.arrow import Column

BATCH_ROWS = 500_000
"""Rows per Arrow batch: above about 100,000, DuckDB writes row groups without logging them; batches
of 65,536 rows load at two thirds of the speed."""

_N_INSERTERS = 2
"""Tables filled in parallel; more of them cost more memory for copies than they gain in time."""

Row = TypeVar("Row", bound=tuple[Any, ...])


@dataclass(frozen=True)
class Result:
    """Rows of a query with the names of their columns."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    is_cut: bool = False
    """Whether there are more rows, which were not read."""


class Store:
    """An open store."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, name: str, remedy: str = LOAD_AGAIN
    ) -> None:
        """Wrap a connection; use ``create`` or ``open_store``. *remedy*: of a damaged file."""
        self._connection = self._asking = connection
        # DuckDB gives up Python's lock while it closes what another thread may interrupt.
        self._closing = Lock()
        self.name, self._remedy = name, remedy

    @classmethod
    def create(
        cls,
        path: Path | None,
        name: str = "",
        schema: Sequence[str] | None = None,
        remedy: str = LOAD_AGAIN,
    ) -> Store:
        """Make a store with its schema at ``path``, in memory without one.

        Error messages use ``name`` if the user did not choose the path. *schema* holds the
        statements for a store that is not a recording, *remedy* is what to do when what it reads
        is damaged.
        """
        name = name or str(path or "the store in memory")
        try:
            connection = duckdb.connect(
                str(path) if path else ":memory:", config={"autoinstall_known_extensions": "false"}
            )
        except duckdb.Error as error:
            raise StoreError(f"{name} cannot be written: {said_by_duckdb(error)}.") from error
        # With a lower threshold the log is checkpointed while loading, which stalls inserts.
        connection.execute("SET checkpoint_threshold = '1GB'")
        store = cls(connection, name, remedy)
        # One transaction: a file would be synced after each statement, and comments are hundreds.
        with store.transaction():
            store.write(";\n".join(schema or read_schema(commented=True)))
        return store

    def __enter__(self) -> Store:
        """Return itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the store."""
        self.close()

    def beside(self) -> Store:
        """Return the same store for another thread, which must close it."""
        return Store(self._connection.cursor(), self.name, self._remedy)

    def close(self) -> None:
        """Write everything to disk and close; raises StoreError when the disk is full."""
        try:
            with self._closing:
                self._connection.close()
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {said_by_duckdb(error)}.") from error

    def insert(self, tables: Mapping[str, Mapping[str, Column]]) -> int:
        """Append rows to tables, given by column; return how many.

        DuckDB compresses an insert on one core, so tables are filled in parallel.
        """
        with ThreadPoolExecutor(_N_INSERTERS) as pool:
            return sum(pool.map(self._insert, tables.keys(), tables.values()))

    def _insert(self, table: str, columns: Mapping[str, Column]) -> int:
        from rcp.analyzer.db.arrow import as_arrow

        incoming = as_arrow(columns, BATCH_ROWS)
        if incoming.num_rows == 0:
            return 0
        names = ", ".join(f'"{name}"' for name in columns)
        cursor = self._connection.cursor()  # a connection serves one thread
        cursor.register("_incoming", incoming)
        try:
            cursor.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM _incoming")
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {said_by_duckdb(error)}.") from error
        finally:
            cursor.close()
        return int(incoming.num_rows)

    def copy(self, source: Path, names: Iterable[str]) -> None:
        """Append whole tables of the store at ``source``, which this process must not have open."""
        path = str(source).replace("'", "''")
        try:
            self._connection.execute(f"ATTACH '{path}' AS _source (READ_ONLY)")
            for name in names:
                self._connection.execute(f"INSERT INTO {name} BY NAME SELECT * FROM _source.{name}")
            self._connection.execute("DETACH _source")
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {said_by_duckdb(error)}.") from error

    def arrays(self, sql: str, parameters: Sequence[Any] = ()) -> dict[str, npt.NDArray[Any]]:
        """Return the columns of one of rcp's own queries, none of which may hold a NULL."""
        import numpy as np

        with self._reading():
            found = self._connection.execute(sql, list(parameters)).fetchnumpy()
        return {name: np.asarray(values) for name, values in found.items()}

    def query(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one of rcp's own queries; raises StoreError on a damaged file."""
        with self._reading():
            return self._connection.execute(sql, list(parameters)).fetchall()

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except duckdb.InterruptException as error:
            raise StoreError("the query was stopped.") from error
        except duckdb.Error as error:
            # rcp's own queries are right, so the file is not.
            raise damaged(self.name, said_by_duckdb(error), self._remedy) from error

    def write(self, sql: str, parameters: Sequence[Any] = ()) -> None:
        """Run one of rcp's own statements that change the store, whole or not at all."""
        try:
            self._connection.execute(sql, list(parameters))
        except duckdb.Error as error:
            raise StoreError(f"{self.name} cannot be written: {said_by_duckdb(error)}.") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Make the writes of the block permanent together; any exception undoes all of them."""
        self.write("BEGIN")
        try:
            yield
            self.write("COMMIT")
        except BaseException:
            # A failed commit has ended the transaction already.
            with suppress(duckdb.Error):
                self._connection.execute("ROLLBACK")
            raise

    def rows(self, kind: type[Row], sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of one of rcp's own queries as ``kind``, a NamedTuple."""
        return [kind(*row) for row in self.query(sql, parameters)]

    def tables(self) -> list[str]:
        """Return the names of the tables, without the views."""
        return [name for (name,) in self.query("SELECT table_name FROM duckdb_tables() ORDER BY 1")]

    def write_parquet(self, table: str, target: Path) -> int:
        """Write a table to a Parquet file, replacing an older one; return the number of rows.

        The file appears when it is complete. Raises StoreError when it cannot be written.
        """
        with atomic_replace(target) as temporary:
            name = str(temporary).replace("'", "''")
            copy = f"COPY (SELECT * FROM {table}) TO '{name}' (FORMAT parquet, COMPRESSION zstd)"
            try:
                ((n_rows,),) = self._connection.execute(copy).fetchall()
            except duckdb.Error as error:
                raise StoreError(
                    f"{target} cannot be written from {self.name}: {said_by_duckdb(error)}."
                ) from error
        return int(n_rows)

    def _check_reading(self, sql: str) -> None:
        try:
            statements = self._connection.extract_statements(sql)
        except duckdb.Error as error:
            raise StoreError(f"bad SQL: {said_by_duckdb(error)}.") from error
        if why_not := refusal([statement.type.name for statement in statements]):
            raise StoreError(why_not)

    def ask(self, sql: str, rows_max: int | None = None) -> Result:
        """Run a user's query: one read-only statement on this store, without access to files."""
        with self._answering(sql) as cursor:
            found = cursor.execute(sql)
            names = [column[0] for column in found.description or ()]
            rows = found.fetchall() if rows_max is None else found.fetchmany(rows_max + 1)
        is_cut = rows_max is not None and len(rows) > rows_max
        return Result(names, rows[:rows_max], is_cut)

    def ask_packed(self, sql: str) -> bytes:
        """Return the answer to a user's query with its types, for another process to merge."""
        from rcp.analyzer.db.arrow import packed

        with self._answering(sql) as cursor:
            return packed(cursor.sql(sql).to_arrow_table())

    @contextmanager
    def _answering(self, sql: str) -> Iterator[duckdb.DuckDBPyConnection]:
        self._check_reading(sql)
        try:
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        except duckdb.InvalidInputException:
            pass  # locked by an earlier question
        except duckdb.InterruptException as error:
            raise StoreError("the query was stopped.") from error
        # In a read-only transaction because EXPLAIN ANALYZE runs what it explains. On a connection
        # of its own because not all rows of the result may be read.
        self._asking = cursor = self._connection.cursor()
        try:
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            yield cursor
        except (duckdb.IOException, duckdb.InternalException, duckdb.FatalException) as error:
            raise damaged(self.name, said_by_duckdb(error), self._remedy) from error
        except duckdb.Error as error:
            raise StoreError(f"bad SQL: {said_by_duckdb(error)}.") from error
        finally:
            with self._closing:
                cursor.close()

    def insert_packed(self, table: str, answers: Mapping[str, bytes], source: str) -> None:
        """Make a table of answers of ``ask_packed``; the column *source* has their names.

        Raises StoreError when the answers do not have the same columns.
        """
        from rcp.analyzer.db.arrow import joined

        try:
            whole = joined(answers, source)
        except ValueError as error:
            raise StoreError(f"the answers of {self.name} do not fit together: {error}.") from error
        with self._connection.cursor() as cursor:
            cursor.register("_answers", whole)
            cursor.execute(f"CREATE TABLE {table} AS FROM _answers")

    def interrupt(self) -> None:
        """Stop the query that another thread runs on this store; there it raises StoreError."""
        # That thread may have closed it: nothing runs.
        with self._closing, suppress(duckdb.ConnectionException):
            self._asking.interrupt()


def open_other(
    path: Path, not_ours: str, *, read_only: bool, remedy: str = "restore it from a copy"
) -> Store:
    """Open a store of something else than a recording, whose contents the caller checks.

    *not_ours* is the error for a file that is no database, *remedy* what to do about a damaged one.
    """
    return Store(connect_other(path, not_ours, read_only, remedy), str(path), remedy)


def open_store(path: Path) -> Store:
    """Open a store read-only; raise StoreError when it is not one, or of another version."""
    return Store(connect_recording(path), str(path))
