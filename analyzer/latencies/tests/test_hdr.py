"""HdrHistogram's files, made by its own library."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hdrh.log import HistogramLogWriter
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.latencies.files import open_latencies
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
        f"{path} line 5 is not an interval of a histogram log of version 1.2 or later: "
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
