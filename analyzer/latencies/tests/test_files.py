"""Opening files: their format, several at once, and while they grow."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.latencies.files import Growing, open_latencies
from rcp.analyzer.latencies.formats import BY_NAME
from rcp.analyzer.latencies.latency import Latencies, LatencyError
from rcp.analyzer.latencies.tests.generators.test_databases import SYSBENCH
from rcp.analyzer.latencies.tests.written import FILES, refusal

FIO = "1, 20000, 0, 4096, 0, 0\n2, 30000, 1, 4096, 0, 0\n9, 25000, 0, 4096, 8192, 0\n"


def test_a_fio_log_is_told_by_its_look(tmp_path: Path) -> None:
    path = tmp_path / "x_lat.1.log"
    path.write_text(FIO)
    latencies = open_latencies(path)
    assert {k: v.tolist() for k, v in latencies.by_kind.items()} == {
        "read": [20000, 25000],
        "write": [30000],
    }
    assert latencies.span_s == pytest.approx(0.008)
    assert latencies.source == str(path)


def test_lines_are_told_by_their_look(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("# ours\nfsync 3us\nbackground=7\n")
    latencies = open_latencies(path)
    assert latencies.by_kind["fsync"].tolist() == [3000]
    assert latencies.values == {"background": 7.0}


def test_a_format_that_is_said_is_not_looked_for(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("12\n13\n")
    assert open_latencies(path, "lines", "us").by_kind["request"].tolist() == [12_000, 13_000]


def test_the_files_of_several_threads_are_one_source(tmp_path: Path) -> None:
    (tmp_path / "x_lat.1.log").write_text(FIO)
    (tmp_path / "x_lat.2.log").write_text("20, 5, 1, 4096, 0, 0\n")
    latencies = open_latencies(f"{tmp_path}/x_lat.*.log")
    assert latencies.by_kind["read"].tolist() == [20000, 25000]
    assert latencies.by_kind["write"].tolist() == [30000, 5]
    assert latencies.span_s == pytest.approx(0.019)


def test_a_programs_prefix_names_its_files(tmp_path: Path) -> None:
    for name in ("log_lat.1.log", "log_lat.2.log"):
        (tmp_path / name).write_text(FIO)
    for name in ("log_clat.1.log", "log.txt"):
        (tmp_path / name).write_text("nothing known\n")
    assert open_latencies(tmp_path / "log", "fio-log").n == 6
    assert Growing(f"{tmp_path}/log", "fio-log").poll().n == 6
    for name in ("log.258", "log.258.1"):
        (tmp_path / name).write_text("0 1 3071 0 1767225615 298091\n")
    assert open_latencies(tmp_path / "log", "pgbench").n == 2
    with pytest.raises(LatencyError, match="log does not exist"):
        open_latencies(tmp_path / "log")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "{path} is empty: the program wrote no latencies."),
        ("# nothing\n", "{path} is in an unknown format: known are {known}."),
        ("nothing known\n", "{path} is in an unknown format: known are {known}."),
        ("a=1\n", "{path} has no latencies: let the program run longer."),
        (
            FIO + "10, 40",
            "{path} ends in the middle of line 4: the program was killed or is still running; "
            "take a finished file, or remove the line.",
        ),
        (
            FIO + "10, 40, 0, 4096\n",
            "{path} line 4 has 4 fields where the first has 6, '10, 40, 0, 4096': "
            "take a file that fio wrote with write_lat_log.",
        ),
        (
            FIO + "10, nan, 0, 4096, 0, 0\n",
            "{path} line 4 has a field that is not an integer, '10, nan, 0, 4096, 0, 0': "
            "take a file that fio wrote with write_lat_log.",
        ),
        (
            FIO + "10, -5, 0, 4096, 0, 0\n",
            "{path} has the negative latency -5: use a monotonic clock.",
        ),
        (
            FIO + "10, 5, 7, 4096, 0, 0\n",
            "{path} line 4 has no data direction of fio (0, 1, 2), '10, 5, 7, 4096, 0, 0': "
            "take a file that fio wrote with write_lat_log.",
        ),
        (
            "100, 5, 1, 0, 0, 0\n",
            "{path} holds averages, not latencies: let fio log every I/O, without log_avg_msec.",
        ),
    ],
)
def test_what_is_wrong_is_told_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    from rcp.analyzer.latencies.formats import BY_NAME

    path = tmp_path / "x.log"
    path.write_text(text)
    with pytest.raises(LatencyError) as error:
        open_latencies(path)
    assert str(error.value) == message.format(path=path, known=", ".join(BY_NAME))


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(LatencyError) as error:
        open_latencies(tmp_path / "x")
    assert str(error.value) == (
        f"{tmp_path}/x does not exist: check what the program writes, and where."
    )


def test_an_unknown_format_is_told(tmp_path: Path) -> None:
    with pytest.raises(LatencyError, match=r"unknown format 'fio': known are recording, .*, lines"):
        open_latencies(tmp_path, "fio")


def test_a_package_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("latency_us\n1\n")
    program = (
        "import sys; sys.modules['duckdb'] = None\n"
        "from rcp.analyzer.latencies.files import LatencyError, open_latencies\n"
        "try: open_latencies(sys.argv[1])\n"
        "except LatencyError as error: print(error)"
    )
    told = subprocess.run(
        [sys.executable, "-c", program, path], check=True, capture_output=True, text=True
    )
    assert told.stdout == f"{path} cannot be read without duckdb: install it with pip.\n"


def test_a_growing_file_is_read_by_whole_lines(tmp_path: Path) -> None:
    growing = Growing(f"{tmp_path}/x_lat.*.log")
    assert growing.poll().n == 0
    path = tmp_path / "x_lat.1.log"
    path.write_text(FIO + "10, 4")
    assert growing.poll().n == 3
    assert growing.poll().n == 0
    with path.open("a") as file:
        file.write("0, 0, 4096, 0, 0\n11, 41, 0, 4096, 0, 0\n12")
    assert growing.poll().by_kind["read"].tolist() == [40, 41]
    (tmp_path / "x_lat.2.log").write_text("1, 99, 1, 4096, 0, 0\n")
    assert growing.poll().by_kind["write"].tolist() == [99]


def test_half_a_first_line_does_not_tell_the_format(tmp_path: Path) -> None:
    path = tmp_path / "x.log"
    path.write_text("1")
    growing = Growing(str(path))
    assert growing.poll().n == 0
    path.write_text(FIO)
    assert growing.poll().by_kind["read"].tolist() == [20000, 25000]


def test_a_growing_file_can_be_read_from_its_end(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("1ms\n2ms\n3")
    growing = Growing(str(path), from_end=True)
    with path.open("a") as file:
        file.write("ms\nnan\n")
    with pytest.raises(LatencyError, match=r"x\.txt line 4 is not a number"):
        growing.poll()


def test_a_growing_file_that_was_cut_is_told(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("1ms\n2ms\n")
    growing = Growing(str(path))
    growing.poll()
    path.write_text("1ms\n")
    with pytest.raises(LatencyError) as error:
        growing.poll()
    assert str(error.value) == f"{path} was truncated while it was read: do not rotate it."


def test_every_file_is_read_or_refused() -> None:
    names = [
        path for path in FILES.rglob("*") if path.is_file() and path.suffix in (".log", ".json")
    ]
    assert len(names) > 15
    for path in names:
        try:
            latencies = open_latencies(path)
        except LatencyError as error:
            assert str(error).startswith(str(path))
            continue
        for times in latencies.by_kind.values():
            assert times.dtype == np.int64


def test_what_no_reader_foresaw_is_one_line_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(path: Path, name: str, unit: str | None) -> Latencies:
        raise KeyError("a\nb")

    known = replace(BY_NAME["lines"], start=None, read=broken)
    monkeypatch.setitem(BY_NAME, "lines", known)
    path = tmp_path / "x"
    path.write_text("1ms\n")
    with pytest.raises(LatencyError) as error:
        open_latencies(path, "lines")
    assert str(error.value).startswith(f"{path} is damaged, or not as lines files are known (KeyE")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"), [("wrk", None), ("sysbench", SYSBENCH), ("lines", "1.25ms\n2ms\n")]
)
def test_a_column_of_a_format_without_columns_is_refused(
    name: str, text: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "x"
    path.write_text(text or (FILES / "generators/wrk.txt").read_text())
    assert refusal(f"{path}:column") == (
        f"{path}:column: {name} has no columns to name: write {path}."
    )
