"""Converts columns to Arrow, for DuckDB and Parquet. The only module that imports pyarrow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq


@dataclass(frozen=True)
class Coded:
    """A text column with few values: ``labels[codes]``, NULL where the code is negative."""

    codes: npt.NDArray[np.integer]
    labels: Sequence[str]


Column = npt.NDArray[Any] | np.ma.MaskedArray[Any, Any] | Coded | Sequence[Any]
"""A column to insert; a masked array's masked values become NULL."""


def _arrow(column: Column) -> pa.Array:
    if isinstance(column, Coded):
        codes = np.ascontiguousarray(column.codes, np.int32)
        missing = codes < 0
        indices = pa.array(codes, mask=missing if missing.any() else None)
        return pa.DictionaryArray.from_arrays(indices, pa.array(column.labels, pa.string()))
    if isinstance(column, np.ma.MaskedArray):
        mask = np.ma.getmaskarray(column)
        data = np.ascontiguousarray(column.data)
        return pa.array(data, mask=mask if mask.any() else None)
    if isinstance(column, np.ndarray):
        return pa.array(np.ascontiguousarray(column))
    return pa.array(column)


def as_arrow(columns: Mapping[str, Column], batch_rows: int) -> pa.Table:
    """Return columns of equal length as an Arrow table in batches of ``batch_rows`` rows."""
    table = pa.table({name: _arrow(column) for name, column in columns.items()})
    return pa.Table.from_batches(table.to_batches(max_chunksize=batch_rows), table.schema)


def _values(values: Sequence[Any]) -> pa.Array:
    """Return one column of a query; values that Arrow has no type for become text."""
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if value is None else str(value) for value in values], pa.string())


def as_parquet(names: Sequence[str], rows: Sequence[Sequence[Any]]) -> bytes:
    """Return the rows of a query as a Parquet file; a repeated column name gets a number.

    Integers of more than 64 bits become text.
    """
    unique: list[str] = []
    for name in names:
        again = sum(other == name or other.startswith(f"{name}:") for other in unique)
        unique.append(f"{name}:{again}" if again else name)
    columns = [_values([row[at] for row in rows]) for at in range(len(names))]
    out = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(columns, unique), out, compression="zstd")
    return out.getvalue()


class ParquetError(Exception):
    """A file is not a whole Parquet file."""


def write_row_groups(
    target: Path,
    types: Mapping[str, str],
    groups: Sequence[Mapping[str, Column]],
    metadata: Mapping[str, str],
    with_bounds: Sequence[str],
) -> None:
    """Write a Parquet file of columns of *types* (Arrow's names), a row group for each of *groups*.

    Columns *with_bounds* tell their least and greatest values, by which readers skip row groups.
    The same values make the same bytes, with one version of pyarrow.
    """
    fields = [pa.field(name, pa.type_for_alias(kind)) for name, kind in types.items()]
    schema = pa.schema(fields)
    coded = [name for name, kind in types.items() if kind == "string"]
    # Not the Arrow schema: other engines have no use for it, and it differs between versions.
    with pq.ParquetWriter(
        target,
        schema,
        compression="zstd",
        use_dictionary=coded,
        store_schema=False,
        write_statistics=list(with_bounds),
    ) as writer:
        for group in groups:
            columns = [_arrow(group[field.name]).cast(field.type) for field in schema]
            table = pa.Table.from_arrays(columns, schema=schema)
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
        writer.add_key_value_metadata(dict(metadata))


def parquet_metadata(path: Path) -> dict[str, str]:
    """Return the texts in the footer of a Parquet file; raise ParquetError if it is not whole."""
    try:
        found = pq.read_metadata(path).metadata or {}
    except (pa.ArrowException, ValueError) as error:
        raise ParquetError(" ".join(str(error).split())) from error
    return {key.decode(): value.decode("utf-8", "replace") for key, value in found.items()}


def packed(table: pa.Table) -> bytes:
    """Return an Arrow table as bytes, for another process."""
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def joined(answers: Mapping[str, bytes], source: str) -> pa.Table:
    """Return packed tables one after the other, with their names in the column *source*.

    Numbers of different widths become the wider ones. Raises ValueError when columns differ.
    """
    tables: list[Any] = []
    for name, answer in answers.items():
        table = pa.ipc.open_stream(answer).read_all()
        own = pa.array([name] * table.num_rows, pa.string())
        if source not in table.column_names:
            table = table.add_column(0, source, own)
        if tables and table.column_names != tables[0].column_names:
            raise ValueError(f"{name} has other columns than the first")
        tables.append(table)
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise ValueError(" ".join(str(error).split())) from error
