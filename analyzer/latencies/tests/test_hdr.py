"""HdrHistogram's files, made by its own library."""

from __future__ import annotations

import io
import struct
import zlib
from base64 import b64encode
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.quantiles import quantile_ns
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.written import refusal

PRECISION = 1e-3  # three significant digits


def histogram(values: list[int]) -> HdrHistogram:
    made = HdrHistogram(1, 10**12, 3)
    for value in values:
        made.record_value(value)
    return made


def write_log(path: Path, parts: list[list[int]], heading: str = "", tag: str = "") -> Path:
    text = io.StringIO()
    writer = HistogramLogWriter(text)
    if heading:
        writer.output_comment(heading)
    writer.output_log_format_version()
    writer.output_legend()
    for second, part in enumerate(parts):
        made = histogram(part)
        made.set_start_time_stamp(1000 * second)
        made.set_end_time_stamp(1000 * second + 1000)
        writer.output_interval_histogram(made, 0)
    lines = text.getvalue().splitlines()
    tagged = [f"Tag={tag},{line}" if tag and line[0].isdigit() else line for line in lines]
    path.write_text("\n".join(tagged) + "\n")
    return path


@settings(max_examples=20)
@given(
    parts=st.lists(st.lists(st.integers(1, 10**9), min_size=1, max_size=40), min_size=1, max_size=3)
)
def test_a_log_has_the_quantiles_of_what_was_recorded(
    tmp_path_factory: pytest.TempPathFactory, parts: list[list[int]]
) -> None:
    path = write_log(tmp_path_factory.mktemp("hdr") / "x.hdr", parts)
    latencies = open_latencies(path, unit="ns")
    everything = np.array([value for part in parts for value in part], np.int64)
    assert latencies.n == len(everything)
    for text in ("p50=1s", "p90=1s", "max=1s"):
        (slo,) = parse(text)
        found, exact = measure(slo, latencies).value_ns, quantile_ns(everything, slo.quantile)
        assert exact <= found <= exact * (1 + PRECISION) + 1


def test_ycsbs_log_says_its_kind_unit_and_clock(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.hdr", [[100, 200]], "[Logging for: Intended-READ]")
    latencies = open_latencies(path)
    assert latencies.kinds == ("READ",)
    assert latencies.open_loop is True
    assert latencies.span_s == 1
    (slo,) = parse("max=1s@READ")
    assert measure(slo, latencies).value_ns == 200_000
    path = write_log(tmp_path / "y.hdr", [[100, 200]], "[Logging for: READ]")
    assert open_latencies(path).open_loop is False


def test_tags_are_kinds(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.hdr", [[5]], tag="commit")
    assert open_latencies(path, unit="us").kinds == ("commit",)


def test_a_log_without_a_unit_is_refused(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.hdr", [[5]])
    assert refusal(path) == (
        f"{path} does not give its unit (most programs of Java write ns, YCSB us): "
        "give its unit (ns, us, ms, s)."
    )


def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    path = write_log(tmp_path / "x.hdr", [[5], [6]])
    text = path.read_text()
    path.write_text(text[:-30])
    assert refusal(path, "ns") == (
        f"{path} ends in the middle of a line: "
        "the program was killed or is still running; run it again."
    )
    path.write_text(text[:-40] + "\n")
    assert refusal(path, "ns") == (
        f"{path} line 4 has a damaged histogram: "
        "the program was killed or is still running; run it again."
    )
    path.write_text(text + "1.0,2.0,3.0\n")
    assert refusal(path, "ns") == (
        f"{path} line 5 is not an interval of a histogram log of version 1.1 or later: "
        "the program was killed or is still running; run it again."
    )


def write_hgrm(path: Path, values: list[int], ratio: float) -> Path:
    with path.open("wb") as file:
        histogram(values).output_percentile_distribution(file, ratio)
    return path


def test_a_percentile_distribution_bounds_quantiles_from_above(tmp_path: Path) -> None:
    values = list(range(1000, 10_001_000, 1000))
    path = write_hgrm(tmp_path / "x.hgrm", values, 1e6)
    latencies = open_latencies(path, unit="ms")
    assert latencies.n == 10_000
    # With how far apart the quantiles are that it lists there: ever closer to the maximum.
    for text, exact, gap in (
        ("p50=1s", 5e6, 0.1),
        ("p99=1s", 9.9e6, 0.01),
        ("p999=1s", 9.99e6, 0.002),
        ("max=1s", 1e7, PRECISION),
    ):
        (slo,) = parse(text)
        found = measure(slo, latencies).value_ns
        assert exact * (1 - PRECISION) <= found <= exact * (1 + gap)
    warning = f"{path}: a quantile that is not listed is taken as the next one that is"
    assert latencies.warnings == (warning,)


def test_a_distribution_cut_short_or_doubled_is_refused(tmp_path: Path) -> None:
    path = write_hgrm(tmp_path / "x.hgrm", [1000, 2000, 3000], 1.0)
    assert refusal(path) == (
        f"{path} does not give its unit (most programs of Java write ns, YCSB us): "
        "give its unit (ns, us, ms, s)."
    )
    text = path.read_text()
    path.write_text(text[: text.index("#[Max")])
    assert refusal(path, "ns") == (
        f"{path} is not a complete percentile distribution: "
        "the program was killed or is still running; run it again."
    )
    path.write_text(text + text)
    assert refusal(path, "ns") == (
        f"{path} has several distributions: write each to a file of its own."
    )


def first_version(values: list[int]) -> str:
    """Return a histogram as HdrHistogram 2.1.4 encodes it, in base64."""
    made = HdrHistogram(1, 10**12, 3)
    for value in values:
        made.record_value(value)
    counts = [made.get_count_at_index(at) for at in range(made.counts_len)]
    body = struct.pack(f">{len(counts)}q", *counts)
    head = struct.pack(">IIIIqqd", 0x1C849381, len(body), 0, 3, 1, 10**12, 1.0)
    packed = zlib.compress(head + body)
    return b64encode(struct.pack(">II", 0x1C849382, len(packed)) + packed).decode()


def ycsb_log(path: Path, data: str) -> Path:
    path.write_text(
        "#[Logging for: Intended-READ]\n#[Histogram log format version 1.1]\n"
        f'"StartTimestamp","Interval_Length"\n0.000,10.000,0.006,{data}\n'
    )
    return path


@settings(max_examples=20)
@given(values=st.lists(st.integers(1, 10**9), min_size=1, max_size=40))
def test_what_every_released_ycsb_writes_is_read(
    tmp_path_factory: pytest.TempPathFactory, values: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("first")
    found = open_latencies(ycsb_log(folder / "old.hdr", first_version(values)))
    expected = open_latencies(write_log(folder / "new.hdr", [values], "[Logging for: READ]"))
    assert found.open_loop
    assert found.histograms["READ"].values_ns.tolist() == (
        expected.histograms["READ"].values_ns.tolist()
    )
    assert found.n == len(values)


@given(at=st.integers(0, 99), letter=st.sampled_from("AZaz09+/"))
def test_a_damaged_histogram_of_the_first_version_is_told(
    tmp_path_factory: pytest.TempPathFactory, at: int, letter: str
) -> None:
    data = first_version([5, 5000, 70_000])
    broken = data[: 8 + at] + letter + data[9 + at :]
    path = ycsb_log(tmp_path_factory.mktemp("first") / "x.hdr", broken)
    try:
        found = open_latencies(path)
    except LatencyError as error:
        assert "has a damaged histogram" in str(error)
        return
    assert broken == data and found.n == 3


def test_cassandra_stress_counts_each_request_once(tmp_path: Path) -> None:
    text = ""
    for tag, values in (("READ-st", [3]), ("READ-rt", [9, 8]), ("READ-wt", [5])):
        text += write_log(tmp_path / "one.hdr", [values], tag=tag).read_text()
    path = tmp_path / "all.hdr"
    path.write_text(text)
    found = open_latencies(path, unit="ns")
    assert (found.kinds, found.n, found.open_loop) == (("READ",), 2, True)
    path.write_text("".join(line for line in text.splitlines(True) if "READ-rt" not in line))
    found = open_latencies(path, unit="ns")
    assert (found.kinds, found.n, found.open_loop) == (("READ",), 1, False)
    write_log(path, [[5]], tag="READ-wt")
    assert refusal(path, "ns").startswith(f"{path} has only how long requests waited before they")
