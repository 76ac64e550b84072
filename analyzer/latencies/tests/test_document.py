"""What is around a program's output: marks, traces, messages, a second run."""

from __future__ import annotations

import codecs
import re
from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import Growing, open_latencies
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.tests.damaged import figures
from rcp.analyzer.latencies.tests.layouts import EXACT
from rcp.analyzer.latencies.tests.written import FILES, refusal

PACKAGE = Path(__file__).parents[1]

PROGRAMS = [
    *("fio/mix.json", "fio/plain.json", "redis/plain.txt", "redis/quantiles.csv"),
    *("generators/wrk.txt", "generators/wrk2.txt", "generators/hyperfine.json"),
    *("generators/vegeta-text.txt", "generators/vegeta-json.txt", "generators/vegeta-hist.txt"),
]
"""Files that are read whole."""

TABLES = ("generators/k6.csv", "generators/vegeta.csv", "fio/mix_lat.1.log", "pgbench/plain.log")


def everything(found: Latencies) -> tuple[object, ...]:
    """Return what is judged, with the bounds of rounded quantiles and when requests ended."""
    return (*figures(found), found.points, found.interval_s)


def test_files_are_opened_in_one_place() -> None:
    opens = re.compile(r"\.read_bytes\(|\.read_text\(|\.open\(\"")
    found = {
        path.name for path in PACKAGE.rglob("*.py") if "tests" not in path.parts
        and opens.search(path.read_text())
    }  # fmt: skip
    assert found == {"document.py", "rows.py", "sheet.py"}


@pytest.mark.parametrize("name", [*PROGRAMS, *TABLES])
def test_a_byte_order_mark_changes_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_bytes(codecs.BOM_UTF8 + (FILES / name).read_bytes())
    assert everything(open_latencies(path)) == everything(open_latencies(FILES / name))


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("code", ["utf-16-le", "utf-16-be"])
def test_what_powershell_writes_is_read(name: str, code: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    text = (FILES / name).read_text().replace("\n", "\r\n")
    path.write_bytes(("\ufeff" + text).encode(code))
    assert everything(open_latencies(path)) == everything(open_latencies(FILES / name))


@pytest.mark.parametrize("name", TABLES)
def test_a_table_in_utf_16_is_refused_with_the_remedy(name: str, tmp_path: Path) -> None:
    path = tmp_path / Path(name).name
    path.write_bytes(("\ufeff" + (FILES / name).read_text()).encode("utf-16-le"))
    assert refusal(path) == f"{path} is UTF-16: convert it, `iconv -f UTF-16 -t UTF-8`."


def test_a_mark_does_not_shift_a_file_that_grows(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_bytes(codecs.BOM_UTF8 + b"1ms\n2ms\n")
    growing = Growing(str(path), "lines")
    assert growing.poll().by_kind["request"].tolist() == [1_000_000, 2_000_000]
    with path.open("ab") as file:
        file.write(b"3ms\n")
    assert growing.poll().by_kind["request"].tolist() == [3_000_000]


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("fio/mix.json", "------- Running fio ------", ""),
        ("fio/mix.json", "+ fio --output-format=json+ x.fio\n", "fio: file hash not empty\n"),
        ("fio/mix.json", "", "\nwal: (groupid=0, jobs=1): err= 0: pid=4242\n  write: IOPS=400\n"),
        ("generators/wrk.txt", "+ wrk -t1 -c2 -d2s --latency http://127.0.0.1/\n", ""),
        ("generators/wrk2.txt", "Initialised 2 threads\n", ""),
    ],
)
def test_what_others_print_around_it_changes_nothing(
    name: str, before: str, after: str, tmp_path: Path
) -> None:
    path = tmp_path / "out.txt"
    path.write_text(before + (FILES / name).read_text() + after)
    assert everything(open_latencies(path)) == everything(open_latencies(FILES / name))


@pytest.mark.parametrize(
    ("name", "program"),
    [
        ("fio/mix.json", "fio"),
        ("generators/wrk.txt", "wrk"),
        ("generators/wrk2.txt", "wrk"),
        ("generators/vegeta-text.txt", "vegeta report"),
    ],
)
def test_two_runs_in_one_file_are_refused(name: str, program: str, tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text((FILES / name).read_text() * 2)
    assert refusal(path) == (
        f"{path} has the output of 2 runs of {program}: write each run to a file of its own."
    )


def test_a_line_of_two_numbers_in_a_field_is_told(tmp_path: Path) -> None:
    lines = EXACT["fio-log"]([5, 6, 7]).splitlines()
    lines[1] = lines[1].replace("6,", "6 40001,", 1)
    path = tmp_path / "x_lat.1.log"
    path.write_text("\n".join(lines) + "\n")
    assert f"{path} line 2 has a field that is not an integer" in refusal(path)
