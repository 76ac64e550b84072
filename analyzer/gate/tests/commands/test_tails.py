"""Limits and SLOs on the mean of a tail, wherever those on a quantile are allowed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.gate.tests.conftest import Gate, GateError, MakeRuns
from rcp.analyzer.gate.tests.test_causes import requests
from rcp.analyzer.gate.tests.test_pytest_plugin import TEST, pytest_of
from rcp.analyzer.latencies.tests.layouts import prometheus_text
from rcp.analyzer.latencies.tests.written import FILES


def written(folder: Path, name: str, lines: list[str]) -> Path:
    path = folder / name
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def of(gate: Gate, *words: object) -> Any:
    return json.loads(gate(*words, "--format", "json").stdout)


def test_a_tail_is_limited_as_a_quantile_is(make_runs: MakeRuns, gate: Gate) -> None:
    words = ("-b", *make_runs("base"), "--max-regression", "tail95=5%,tail99=10%")
    passed = gate(*make_runs("same"), *words)
    assert (passed.exit_code, passed.stdout.split(":")[0]) == (0, "pass")
    worse = make_runs("worse", factor=1.3)
    failed = gate(*worse, *words)
    assert failed.exit_code == 1
    assert failed.stdout.startswith("regression: tail95 ")
    told = of(gate, *worse, *words)["quantiles"]
    assert [one["quantile"] for one in told] == ["tail95", "tail99"]
    assert told[0]["candidate"]["beyond"] == 6 * 600
    assert "| tail95 | " in gate(*worse, *words, "--format", "markdown").stdout
    assert '<testcase classname="gate.regression" name="tail95"' in (
        gate(*worse, *words, "--format", "junit").stdout
    )


def test_a_save_has_the_tails_of_its_runs(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError, tmp_path: Path
) -> None:
    base, saved = make_runs("base"), tmp_path / "b"
    assert gate("save", *base, "-o", saved).exit_code == 0
    words = ("--max-regression", "tail99=5%")
    (one,) = of(gate, *base, "-b", saved, *words)["quantiles"]
    assert (one["ratio"], one["verdict"]) == (1, "pass")
    told = of(gate, "history", saved, "--quantile", "tail99")
    assert round(told["points"][0]["value_ns"]) == one["baseline"]["value_ns"]
    assert gate_error("history", saved, "--quantile", "tail98").startswith("'tail98' is not a ")


def test_an_slo_bounds_the_mean_of_the_slowest_of_one_kind(tmp_path: Path, gate: Gate) -> None:
    # The slowest 1 % of 1000 fsyncs: 5 of 10 ms and 5 of 2 ms, so 6 ms on average.
    fsyncs = ["fsync 2ms"] * 995 + ["fsync 10ms"] * 5
    path = written(tmp_path, "run.txt", [*fsyncs, *["read 30ms"] * 100])
    for bound, verdict in (("6ms", "pass"), ("5.999ms", "SLO missed")):
        (one,) = of(gate, path, "--slo", f"tail99={bound}@fsync")["slos"]
        assert (one["verdict"], one["candidate"]["value_ns"]) == (verdict, 6_000_000)
    few = written(tmp_path, "few.txt", fsyncs[:999])
    (one,) = of(gate, few, "--slo", "tail99=1ms@fsync")["slos"]
    assert (one["verdict"], one["why"]) == ("inconclusive", "999 requests, 1000 are needed")


def test_too_few_requests_in_the_tail_are_inconclusive(make_runs: MakeRuns, gate: Gate) -> None:
    runs = make_runs("base", 5, requests=1500)
    words = (*runs, "-b", *runs, "--max-regression")
    (one,) = of(gate, *words, "tail99=5%")["quantiles"]
    assert one["why"] == (
        "the baseline has 7500 requests, 10000 are needed for 100 in the tail99: 7 such runs"
    )
    assert gate(*words, "tail99=5%").exit_code == 3
    (one,) = of(gate, *words, "tail9999=5%")["quantiles"]
    assert one["why"] == "a run of the baseline has 1500 requests, 100000 are needed"


def test_a_last_bucket_without_an_end_does_not_tell_a_tail(tmp_path: Path, gate: Gate) -> None:
    metrics = [5_000_000] * 2990 + [15 * 10**9] * 10
    paths = [written(tmp_path, f"{n}.txt", [prometheus_text(metrics)]) for n in range(6)]
    (one,) = of(gate, *paths, "-b", *paths, "--max-regression", "tail99=5%")["quantiles"]
    assert one["why"] == (
        "the tail99 of the baseline is somewhere above 3.33 s, as the last bucket has no upper "
        "bound: that is coarser than the limit of 5 %; measure single latencies, or count in "
        "buckets up to the slowest request, or limit a quantile"
    )
    (slo,) = of(gate, paths[0], "--slo", "tail99=4s")["slos"]
    assert slo["why"] == "somewhere above 3.33 s: the last bucket has no upper bound"
    assert of(gate, paths[0], "--slo", "tail99=3s")["slos"][0]["verdict"] == "SLO missed"


def test_a_source_of_quantiles_is_refused_in_one_line(gate_error: GateError) -> None:
    path = FILES / "generators/wrk.txt"
    assert gate_error(path, "--slo", "tail99=1s") == (
        f"{path} has quantiles only, not the mean of a tail for tail99=1s: "
        "let the program write every latency, or limit a quantile."
    )


@pytest.mark.parametrize("is_saved", [False, True])
def test_the_causes_of_a_tail_add_up_to_its_mean(
    tmp_path: Path, gate: Gate, is_saved: bool
) -> None:
    base, slow = requests(tmp_path, "base", 0), requests(tmp_path, "slow", 30)
    if is_saved:
        gate("save", base, "-o", tmp_path / "b")
    words = ("-b", tmp_path / "b" if is_saved else base, "--max-regression", "tail95=5%")
    (one,) = of(gate, slow, *words)["quantiles"]
    # 30 of the 50 slowest were held up: 5000 ns and 85 ns in all more; 20 took 1006 ns.
    assert one["baseline"]["value_ns"] == 1006
    assert one["candidate"]["value_ns"] == round((30 * 5000 + 85 + 20 * 1006) / 50)
    lock = next(cause for cause in one["causes"] if cause["what"] == "lock by checkpointer")
    assert (lock["a_ns"], lock["b_ns"]) == (0, 30 * 4000 / 50)
    assert lock["share"] == pytest.approx(2400 / (3404.1 - 1006))
    assert "what grew in the tail95, by culprit" in gate(slow, *words).stdout


def test_two_commands_are_compared_by_their_tails(make_runs: MakeRuns, gate: Gate) -> None:
    (path,) = make_runs("one", 1)
    words = ("--runs", 6, "--max-regression", "tail95=5%", "--slo", "tail99=1s")
    told = of(gate, "run", "--a", f"cat {path}", "--b", f"cat {path}", *words)
    assert (told["verdict"], told["quantiles"][0]["quantile"]) == ("pass", "tail95")
    assert told["slos"][0]["verdict"] == "pass"


def test_the_fixture_of_pytest_takes_a_tail(tmp_path: Path) -> None:
    limited = TEST.replace('"p99=15%%"', '"tail95=15%%", slo="tail99=1s"')
    file = tmp_path / "test_put.py"
    file.write_text(limited % (1, "1.0"))
    assert pytest_of(tmp_path, "--rcp-gate-save").returncode == 0
    file.write_text(limited % (2, "1.0"))
    passed = pytest_of(tmp_path)
    assert passed.returncode == 0, passed.stdout
    file.write_text(limited % (3, "1.5"))
    assert "regression: tail95 " in pytest_of(tmp_path).stdout
