"""Histograms: a quantile that is known to its bucket only is judged when that is enough."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.gate.saved import SavedRun, load, save
from rcp.analyzer.gate.tests.conftest import Gate, GateError
from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.slo import measure, parse
from rcp.analyzer.latencies.tests.layouts import prometheus_query, prometheus_text

RUNS = 6


def histograms(folder: Path, name: str, factor: float = 1.0) -> list[Path]:
    """Write runs of native histograms, whose buckets are 9 % wide."""
    generator = np.random.default_rng([ord(letter) for letter in name])
    paths = []
    for number in range(RUNS):
        values = generator.lognormal(0, 0.5, 3000) * factor * 1e7
        paths.append(folder / f"{name}{number}.json")
        paths[-1].write_text(prometheus_query(values.astype(int).tolist()))
    return paths


def test_a_bucket_wider_than_the_limit_is_not_judged(tmp_path: Path, gate: Gate) -> None:
    words = [*histograms(tmp_path, "new"), "-b", *histograms(tmp_path, "old"), "--format", "json"]
    told = json.loads(gate(*words, "--max-regression", "p90=5%").stdout)
    (one,) = told["quantiles"]
    assert one["verdict"] == "inconclusive"
    assert gate(*words[:-2], "--max-regression", "p90=5%").exit_code == 3  # more runs tell no more
    assert one["why"].startswith("the p90 of the baseline is somewhere between 1")
    assert one["why"].endswith(
        "coarser than the limit of 5 %; give the native histogram a bucket factor of at most 1.05 "
        "(client_golang: NativeHistogramBucketFactor), or allow 9.1 % or more"
    )


def test_a_saved_baseline_of_native_histograms_has_the_remedy_too(
    tmp_path: Path, gate: Gate
) -> None:
    assert gate("save", *histograms(tmp_path, "old"), "-o", tmp_path / "b").exit_code == 0
    words = [*histograms(tmp_path, "new"), "-b", tmp_path / "b", "--format", "json"]
    (one,) = json.loads(gate(*words, "--max-regression", "p90=5%").stdout)["quantiles"]
    assert one["why"].startswith("the p90 of the baseline is somewhere between 1")
    assert "a bucket factor of at most 1.05 " in one["why"]


def test_other_buckets_have_no_bucket_factor(tmp_path: Path, gate: Gate) -> None:
    paths = []
    for number in range(RUNS):
        paths.append(tmp_path / f"{number}.txt")
        paths[-1].write_text(prometheus_text([5_000_000] * 9 + [20_000_000] * 3000))
    words = (*paths, "-b", *paths, "--format", "json")
    (one,) = json.loads(gate(*words).stdout)["quantiles"]
    assert one["why"] == (
        "the p99 of the baseline is somewhere between 10.0 ms and 100.0 ms: that is coarser than "
        "the limit of 5 %; measure single latencies, or count in narrower buckets"
    )


def test_a_bound_inside_a_native_bucket_tells_the_bucket_factor(tmp_path: Path, gate: Gate) -> None:
    # log2(0.01 s) * 8 is -53.2: the bucket is from 2 ** (-54 / 8) s to 2 ** (-53 / 8) s.
    path = histograms(tmp_path, "new")[0]
    path.write_text(prometheus_query([10_000_000] * 3000))
    told = json.loads(gate(path, "--slo", "p99=10ms", "--format", "json").stdout)
    assert told["slos"][0]["why"] == (
        "somewhere between 9.29 ms and 10.1 ms: give the native histogram a smaller bucket factor "
        "(client_golang: NativeHistogramBucketFactor)"
    )


def test_a_bucket_narrower_than_the_limit_is_judged(tmp_path: Path, gate: Gate) -> None:
    base = histograms(tmp_path, "old")
    words = ["-b", *base, "--max-regression", "p90=10%"]
    assert gate(*base, *words).stdout.startswith("pass")
    assert gate(*histograms(tmp_path, "worse", 1.5), *words).stdout.startswith("regression")


@pytest.mark.parametrize(
    ("bound", "verdict"),
    [
        ("100ms", "pass"),
        ("200ms", "pass"),
        ("50ms", "inconclusive"),
        ("10ms", "SLO missed"),
        ("5ms", "SLO missed"),
    ],
)
def test_a_bound_inside_the_bucket_is_not_judged(
    tmp_path: Path, gate: Gate, bound: str, verdict: str
) -> None:
    path = tmp_path / "metrics"
    path.write_text(prometheus_text([5_000_000] * 9 + [20_000_000] * 3000))  # from 10 to 100 ms
    told = json.loads(gate(path, "--slo", f"p99={bound}", "--format", "json").stdout)
    (one,) = told["slos"]
    assert one["verdict"] == verdict
    status = gate(path, "--slo", f"p99={bound}").exit_code
    assert status == {"pass": 0, "SLO missed": 1, "inconclusive": 3}[verdict]
    if verdict == "inconclusive":
        assert one["why"] == (
            "somewhere between 10.0 ms and 100.0 ms: count in narrower buckets around the bound"
        )


@pytest.mark.parametrize(("bound", "verdict"), [("10s", "SLO missed"), ("11s", "inconclusive")])
def test_a_bucket_without_an_end_is_beyond_bounds_below_it_only(
    tmp_path: Path, gate: Gate, bound: str, verdict: str
) -> None:
    path = tmp_path / "metrics"
    path.write_text(prometheus_text([20_000_000] * 30 + [15 * 10**9] * 3000))
    told = json.loads(gate(path, "--slo", f"p99={bound}", "--format", "json").stdout)
    (one,) = told["slos"]
    assert one["verdict"] == verdict
    assert gate(path, "--slo", "p50=1s", "--interval", "1ms").exit_code == 2


def test_quantiles_that_a_summary_lacks_are_refused_in_one_line(gate_error: GateError) -> None:
    from rcp.analyzer.latencies.tests.written import FILES

    path = FILES / "generators/wrk.txt"
    assert gate_error(path, "--slo", "p999=1s") == (
        f"{path} has only p50, p90, p99, max, not the quantile of p999=1s: "
        "let the program write every latency, or use one of these."
    )
    assert gate_error("save", path, "-o", "b").endswith(
        "configure the program to write every latency, or counts (fio's --output-format=json+)."
    )


def test_a_save_keeps_the_width_of_buckets(tmp_path: Path) -> None:
    path = tmp_path / "metrics"
    path.write_text(prometheus_text([20_000_000] * 3000 + [15 * 10**9]))
    told = open_latencies(path)
    save(tmp_path / "b", [SavedRun(told, {}, 0.0)], saved="2026-01-01", label="")
    (run,) = load(tmp_path / "b").runs
    for text in ("p50=1s", "max=1s"):
        (slo,) = parse(text)
        assert measure(slo, run.latencies) == measure(slo, told)
