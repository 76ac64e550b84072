"""Columns that grow."""

import numpy as np
import numpy.typing as npt

from rcp.analyzer.paths.segments import PathColumns, Segments


def rows(first: int, count: int) -> dict[str, npt.NDArray[np.generic] | int]:
    some = np.arange(first, first + count, dtype=np.int32)
    found: dict[str, npt.NDArray[np.generic] | int] = {"ts": some.astype(np.int64) << 33}
    for name in ("request", "utid", "io", "edge", "ran"):
        found[name] = some
    return found | {"dur": 5, "depth": 1, "kind": 2}


def test_rows_keep_their_values_and_types_as_columns_grow() -> None:
    columns = PathColumns(Segments)
    for first, count in ((0, 3), (3, 5000), (5003, 0), (5003, 20_000)):
        columns.add(count, **rows(first, count))
    found = columns.columns()
    assert found["request"].tolist() == list(range(25_003))
    assert found["ts"].tolist() == [n << 33 for n in range(25_003)]
    assert set(found["dur"].tolist()) == {5}
    assert (found["ts"].dtype, found["kind"].dtype) == (np.int64, np.int8)


def test_columns_begin_anew() -> None:
    columns = PathColumns(Segments)
    columns.add(2, **rows(0, 2))
    columns.clear()
    columns.add(1, **rows(7, 1))
    assert columns.columns()["utid"].tolist() == [7]
