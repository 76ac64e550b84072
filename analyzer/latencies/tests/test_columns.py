"""Columns of CSV and Parquet files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.tests.written import refusal

CSV = "when,latency_us,size\n1,20,4096\n2,30.5,4096\n3,7,512\n"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_the_one_column_with_a_unit_is_the_latency(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", CSV)
    assert open_latencies(path).by_kind["request"].tolist() == [20_000, 30_500, 7_000]


def test_a_column_can_be_named_and_its_unit_said(tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", CSV)
    assert open_latencies(f"{path}:size", unit="ms").by_kind["request"][2] == 512_000_000
    assert open_latencies(f"{path}:latency_us", unit="ns").by_kind["request"][0] == 20


def test_a_column_of_kinds_parts_them_in_order(tmp_path: Path) -> None:
    rows = "kind,latency_ms\nread,3\nwrite,9\nread,1\n"
    latencies = open_latencies(write(tmp_path / "x.csv", rows))
    assert {kind: times.tolist() for kind, times in latencies.by_kind.items()} == {
        "read": [3_000_000, 1_000_000],
        "write": [9_000_000],
    }


@pytest.mark.parametrize("separator", [";", "\t"])
def test_other_separators_are_seen(tmp_path: Path, separator: str) -> None:
    path = write(tmp_path / "x.csv", CSV.replace(",", separator))
    assert open_latencies(path).by_kind["request"].tolist() == [20_000, 30_500, 7_000]


def test_parquet_is_read_alike(tmp_path: Path) -> None:
    path = tmp_path / "it's.parquet"
    with Store.create(None) as store:
        store.query("CREATE TABLE latencies AS SELECT range AS latency_ns FROM range(100000)")
        store.write_parquet("latencies", path)
    found = open_latencies(path).by_kind["request"]
    assert found.tolist() == list(range(100_000))
    assert found.dtype == np.int64


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        (CSV, ":latency", "{path} has no column 'latency': it has when, latency_us, size."),
        (
            CSV,
            ":size",
            "{path} does not say the unit of 'size': name it size_us, or "
            "give its unit (ns, us, ms, s).",
        ),
        (
            "a_ms,b_ms\n1,2\n",
            "",
            "{path} has no column that is clearly the latency: write {path}:COLUMN with one of "
            "a_ms, b_ms.",
        ),
        (
            "latency_ms\n1\nfast\n",
            "",
            "{path} has text in column 'latency_ms', not only numbers: "
            "leave out what was not measured.",
        ),
        (
            "n,latency_ms\n1,3\n2,\n",
            "",
            "{path} has NaN as latency 2: leave out requests that were not timed.",
        ),
        (
            "n,latency_ms\n1,3\n2,-4\n",
            "",
            "{path} has the negative latency -4: use a monotonic clock.",
        ),
        ("latency_ms\n", "", "{path} has no latencies: let the program run longer."),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, text: str, column: str, message: str) -> None:
    path = write(tmp_path / "x.csv", text)
    assert refusal(f"{path}{column}") == message.format(path=path)


def test_a_damaged_parquet_file_is_told_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1" + b"x" * 100)
    told = refusal(path)
    assert str(path) in told and "\n" not in told
