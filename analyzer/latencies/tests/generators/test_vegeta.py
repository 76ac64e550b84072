"""vegeta's results and reports, of one attack of 60 requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.generators.go_duration import go_duration_ns
from rcp.analyzer.latencies.tests.layouts import vegeta_csv
from rcp.analyzer.latencies.tests.written import FILES, measured, refusal, rewritten, value_ns

VEGETA = FILES / "generators"
REPORTS = ["vegeta-text.txt", "vegeta-json.txt", "vegeta-hdrplot.txt"]


def test_both_encodings_are_alike() -> None:
    csv, json = (open_latencies(VEGETA / f"vegeta.{kind}") for kind in ("csv", "json"))
    assert csv.by_kind["GET"].tolist() == json.by_kind["GET"].tolist()
    assert csv.n == 60
    assert csv.span_s == pytest.approx(1.1675, abs=1e-4)


@pytest.mark.parametrize("separators", [(", ", ": "), (",", ":")])
def test_results_that_a_filter_wrote_anew_are_vegetas_too(
    tmp_path: Path, separators: tuple[str, str]
) -> None:
    path = tmp_path / "vegeta.json"
    path.write_text(rewritten(VEGETA / "vegeta.json", separators))
    plain = open_latencies(VEGETA / "vegeta.json").by_kind["GET"]
    assert open_latencies(path).by_kind["GET"].tolist() == plain.tolist()


@pytest.mark.parametrize("name", REPORTS)
def test_a_report_has_the_quantiles_of_the_results(name: str) -> None:
    results, report = open_latencies(VEGETA / "vegeta.csv"), open_latencies(VEGETA / name)
    assert report.n == results.n
    for text in ("p50=1s", "max=1s"):
        # vegeta interpolates, and prints three decimals
        assert value_ns(report, text) == pytest.approx(value_ns(results, text), rel=0.001)
    assert "quantiles only" in report.warnings[0]


def test_a_quantile_that_a_plot_does_not_list_is_between_its_neighbours() -> None:
    plot = measured("p99=1s", open_latencies(VEGETA / "vegeta-hdrplot.txt"))
    text = measured("p99=1s", open_latencies(VEGETA / "vegeta-text.txt"))
    assert plot.low_ns is not None
    assert plot.low_ns < text.value_ns < plot.value_ns


def test_a_report_has_no_other_quantiles() -> None:
    report = open_latencies(VEGETA / "vegeta-text.txt")
    with pytest.raises(Exception, match="has only p50, p90, p95, p99, max, not the quantile of p9"):
        value_ns(report, "p999=1s")


def test_a_histograms_quantile_is_known_to_its_bucket() -> None:
    found = open_latencies(VEGETA / "vegeta-hist.txt")
    median = measured("p50=1s", found)
    assert (median.low_ns, median.value_ns, median.is_open) == (2_000_000, 5_000_000, False)
    longest = measured("max=1s", found)
    assert (longest.low_ns, longest.is_open) == (10_000_000, True)


def test_the_binary_output_is_refused_with_the_command_that_helps(tmp_path: Path) -> None:
    path = tmp_path / "results.bin"
    path.write_bytes(bytes.fromhex("ff967f0301010652") + b"esult\x01\xff\x80\x00\x01\x0c")
    assert refusal(path) == (
        f"{path} is vegeta's binary output: write it as text with `vegeta encode {path}`."
    )


def test_failed_requests_are_told(tmp_path: Path) -> None:
    path = tmp_path / "v.csv"
    path.write_text(vegeta_csv([5, 6]).replace(",200,", ",503,", 1))
    assert open_latencies(path).warnings == (
        f"{path}: 1 of 2 requests failed: their latencies count as well",
    )


@pytest.mark.parametrize("name", REPORTS)
def test_a_cut_report_is_refused(name: str, tmp_path: Path) -> None:
    path = tmp_path / "cut"
    text = (VEGETA / name).read_text()
    path.write_text(text[: len(text) // 4])
    ends = ("is not a whole report of vegeta", "ends in the middle of a line")
    assert any(end in refusal(path) for end in ends)
    if name != "vegeta-json.txt":  # it is one line
        path.write_text(text[: text.rindex("\n", 0, len(text) // 2) + 1])
    assert "is not a whole report of vegeta" in refusal(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("622.425µs", 622_425),
        ("1m2.5s", 62_500_000_000),
        ("0s", 0),
        ("17ns", 17),
        ("1h0m1s", 3_601_000_000_000),
        ("fast", None),
        ("5", None),
    ],
)
def test_durations_of_go(text: str, expected: int | None) -> None:
    assert go_duration_ns(text) == expected
