"""Every format gives the quantiles of the same latencies, and is told by its content."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rcp.analyzer.latencies.files import _format_of, open_latencies
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.layouts import COUNTED, EXACT, Writer

QUANTILES = ("p50=1s", "p90=1s", "p95=1s", "p99=1s", "p999=1s", "max=1s")
latencies_ms = st.lists(st.integers(1, 3000), min_size=1, max_size=150)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("formats")


@pytest.mark.parametrize(("name", "write"), EXACT.items(), ids=list(EXACT))
@settings(max_examples=6, deadline=None)
@given(ms=latencies_ms)
def test_the_same_latencies_have_the_same_quantiles(
    folder: Path, name: str, write: Writer, ms: list[int]
) -> None:
    ns = [one * 10**6 for one in ms]
    path, plain = folder / "latencies", folder / "plain"
    path.write_text(write(ns))
    plain.write_text(EXACT["lines"](ns))
    assert _format_of(path).name == name.partition(",")[0]
    found, expected = open_latencies(path), open_latencies(plain)
    assert found.n == len(ns)
    for text in QUANTILES:
        (slo,) = parse(text)
        assert measure(slo, found) == measure(slo, expected)


@pytest.mark.parametrize(("name", "write"), COUNTED.items(), ids=list(COUNTED))
@settings(max_examples=6, deadline=None)
@given(ms=latencies_ms)
def test_a_histograms_quantile_lies_in_its_bucket(
    folder: Path, name: str, write: Writer, ms: list[int]
) -> None:
    ns = [one * 10**6 for one in ms]
    path, plain = folder / "histogram", folder / "plain"
    path.write_text(write(ns))
    plain.write_text(EXACT["lines"](ns))
    assert _format_of(path).name == name.partition(",")[0]
    found, expected = open_latencies(path), open_latencies(plain)
    assert found.n == len(ns)
    for text in QUANTILES:
        (slo,) = parse(text)
        one, true_ns = measure(slo, found), measure(slo, expected).value_ns
        low_ns = one.value_ns if one.low_ns is None else one.low_ns
        assert low_ns <= true_ns + 1  # bounds are rounded to the ns
        assert one.is_open or true_ns <= one.value_ns + 1


@pytest.mark.parametrize("write", EXACT.values(), ids=list(EXACT))
@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_a_cut_file_is_refused_or_has_fewer_requests(
    folder: Path, write: Writer, data: st.DataObject
) -> None:
    """Never a traceback, and never requests that were not there."""
    ns = [2_000_000, 3_000_000, 5_000_000, 7_000_000]
    text = write(ns)
    path = folder / "cut"
    path.write_text(text[: data.draw(st.integers(0, len(text) - 1))])
    try:
        found = open_latencies(path)
    except LatencyError as error:
        assert str(path) in str(error) and "\n" not in str(error)
        return
    every = [one for times in found.by_kind.values() for one in times.tolist()]
    assert every == ns[: len(every)]
