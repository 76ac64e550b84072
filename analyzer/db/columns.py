"""Columns of the store's tables, with their NULLs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.db.arrow import Coded, Column

Columns = dict[str, Column]
Array = npt.NDArray[Any]


def null_if(values: Array, nulls: Array | np.bool_) -> np.ma.MaskedArray[Any, Any]:
    """Return ``values`` with NULL where ``nulls``."""
    return np.ma.MaskedArray(values, nulls)


def missing(index: Array) -> np.ma.MaskedArray[Any, Any]:
    """Return positions, utids or stack ids with NULL where there is none."""
    return null_if(index, index < 0)


def keys(index: Array) -> np.ma.MaskedArray[Any, Any]:
    """Return positions as keys, which count from 1; NULL where there is none."""
    return null_if(index + 1, index < 0)


def texts(values: Sequence[str]) -> Coded:
    """Return texts with many repeats as codes and labels."""
    labels = sorted(set(values))
    code = {label: position for position, label in enumerate(labels)}
    return Coded(np.array([code[value] for value in values], np.int32), labels)


def given(**columns: Column | None) -> Columns:
    """Return the columns that are not None; a column left out is NULL in every row, at no cost."""
    return {name: column for name, column in columns.items() if column is not None}


def ids_or_none(ids: Array) -> Column | None:
    """Return ids with NULL for 0, None when all are 0."""
    return null_if(ids, ids == 0) if ids.any() else None


def index_or_none(index: Array) -> Column | None:
    """Return positions with NULL for -1, None when all are -1."""
    return missing(index) if (index >= 0).any() else None
