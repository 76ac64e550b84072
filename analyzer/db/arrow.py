"""Converts columns to Arrow, for DuckDB and Parquet. The only module that imports pyarrow."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
