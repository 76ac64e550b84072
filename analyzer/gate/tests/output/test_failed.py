"""The limit of failed requests: a candidate that is quick because it fails is worse."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree.ElementTree import parse as parse_xml

import pytest

from rcp.analyzer.gate import limits
from rcp.analyzer.gate.judge import Rules, judge
from rcp.analyzer.gate.judgement import Verdict
from rcp.analyzer.gate.output.failed import failed_sentence, shares
from rcp.analyzer.gate.sequential import worth_more_runs
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.tests.conftest import Gate, GateError
from rcp.analyzer.gate.tests.test_judge import P99, steady
from rcp.analyzer.latencies import slo
from rcp.analyzer.latencies.latency import Failures


def failing(runs: list[Run], *failed: int | None, of: int = 1000) -> list[Run]:
    """Return runs, of whose requests so many failed each; None: the files do not say."""
    each = [None if n is None else Failures(n, of) for n in failed]
    return [
        replace(run, latencies=replace(run.latencies, failures=each[number % len(each)]))
        for number, run in enumerate(runs)
    ]


@pytest.mark.parametrize(
    ("base", "candidate", "verdict", "why"),
    [
        ((0,), (1000,), Verdict.REGRESSION, "more than 1 %"),
        ((0,), (11,), Verdict.REGRESSION, "more than 1 %"),
        ((0,), (10,), Verdict.PASS, "no more than 1 %"),
        ((20, 40), (41,), Verdict.REGRESSION, "more than 1 % and than in any run of the baseline"),
        ((20, 40), (40,), Verdict.PASS, "more than 1 %, but no more than in a run of the baseline"),
        ((0,), (None, 90), Verdict.REGRESSION, "more than 1 %"),
        (
            (None,),
            (90,),
            Verdict.REGRESSION,
            "more than 1 %; the baseline does not say how many failed: save it again, or allow "
            "them with --max-failed 9%",
        ),
    ],
)
def test_a_candidate_whose_requests_fail_more_often_is_worse(
    base: tuple[int | None, ...], candidate: tuple[int | None, ...], verdict: Verdict, why: str
) -> None:
    found = judge(failing(steady(1), *base), failing(steady(1), *candidate), P99)
    assert found.failing is not None
    assert (found.verdict, found.failing.verdict, found.failing.why) == (verdict, verdict, why)


def test_an_improvement_by_failing_is_a_regression_that_needs_no_more_runs() -> None:
    found = judge(failing(steady(1), 0), failing(steady(0.2), 1000), P99)
    assert found.tested[0].verdict == Verdict.IMPROVEMENT
    assert found.verdict == Verdict.REGRESSION
    assert not worth_more_runs(found, 16)
    every = judge(failing(steady(1), 0), failing(steady(0.2), 1000), replace(P99, max_failed=1.0))
    assert every.verdict == Verdict.IMPROVEMENT


def test_without_a_baseline_failures_miss_the_slo() -> None:
    rules = Rules((), slo.parse("p50=1s"))
    assert judge([], failing(steady(1), 11), rules).verdict == Verdict.MISSED
    assert judge([], failing(steady(1), 10), rules).verdict == Verdict.PASS


def test_files_that_say_nothing_of_failures_are_not_limited() -> None:
    found = judge(failing(steady(1), 500), failing(steady(1), None), P99)
    assert found.failing is None
    assert any(text.startswith("the candidate's files do not say") for text in found.warnings)
    both = judge(failing(steady(1), None), failing(steady(1), None), P99)
    assert not any("do not say how many" in text for text in both.warnings)


def dying(runs: list[Run], share: float, number: int = 3) -> list[Run]:
    """Return runs, of which one made only ten requests, of which this share failed."""
    one = replace(runs[number].latencies, failures=Failures(round(10 * share), 10))
    return [*runs[:number], replace(runs[number], latencies=one), *runs[number + 1 :]]


def test_a_run_that_died_is_not_lost_among_the_requests_of_others() -> None:
    sound = failing(steady(1), 0, of=100_000)
    dead = dying(sound, 1.0)
    found = judge(sound, dead, P99).failing
    assert found is not None
    assert (found.verdict, found.why) == (
        Verdict.REGRESSION,
        f"100.0 % in {dead[3].name}, more than 1 %",
    )
    assert judge(sound, dying(sound, 0.5), P99).verdict == Verdict.PASS
    assert judge(dead, dead, P99).verdict == Verdict.PASS
    assert judge([], dead, Rules((), slo.parse("p50=1s"))).verdict == Verdict.MISSED


def test_a_share_too_small_to_read_is_told_in_counts() -> None:
    sound = failing(steady(1), 0, of=10**6)
    found = judge(sound, failing(steady(1), 3, of=10**6), replace(P99, max_failed=0.0)).failing
    assert found is not None
    assert shares(found) == "0 of 6000000 → 18 of 6000000"
    assert failed_sentence(found) == (
        "failed requests: 0 of 6000000 → 18 of 6000000, more than 0 %"
    )


HEADING = "timeStamp,elapsed,label,responseCode,threadName,success\n"
N = 2000


@pytest.fixture
def sides(tmp_path: Path) -> tuple[list[Path], list[Path]]:
    """Write runs of JMeter, the candidate's four times as quick because one in ten failed."""

    def run(name: str, number: int) -> Path:
        path = tmp_path / f"{name}{number}.jtl"
        quick = name == "new"
        rows = [
            f"{1790000000000 + row},{(100 + row % 97 + number) // (4 if quick else 1)},GET /,"
            f"{503 if quick and row % 10 == 0 else 200},users 1-1,"
            f"{'false' if quick and row % 10 == 0 else 'true'}\n"
            for row in range(N)
        ]
        path.write_text(HEADING + "".join(rows))
        return path

    old, new = ([run(name, number) for number in range(6)] for name in ("old", "new"))
    return old, new


def test_every_output_says_it_in_one_line(
    gate: Gate, sides: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    old, new = sides
    words = (*new, "--baseline", *old)
    headline = "regression: failed requests 0.0 % → 10.0 % (more than 1 %)"
    result = gate(*words, "--junit", tmp_path / "gate.xml")
    assert (result.exit_code, result.stdout.partition("\n")[0]) == (1, headline)
    assert "drift" not in result.stdout
    told = json.loads(gate(*words, "--format", "json").stdout)
    assert (told["verdict"], told["headline"]) == ("regression", headline)
    assert told["failed"] == {
        "limit": 0.01,
        "baseline": {"failed": 0, "requests": 6 * N, "share": 0.0},
        "candidate": {"failed": 6 * N // 10, "requests": 6 * N, "share": 0.1},
        "verdict": "regression",
        "why": "more than 1 %",
    }
    markdown = gate(*words, "--format", "markdown").stdout
    assert markdown.startswith(f"### ❌ Latency gate: {headline}\n")
    case = parse_xml(tmp_path / "gate.xml").getroot()[0][0]
    assert case.get("name") == "failed requests"
    assert case[0].get("message") == headline.removeprefix("regression: ")


def test_the_limit_can_be_set(gate: Gate, sides: tuple[list[Path], list[Path]]) -> None:
    old, new = sides
    words = (*new, "--baseline", *old, "--max-failed")
    assert gate(*words, "10%").exit_code == 0
    assert gate(*words, "9.9%").exit_code == 1
    assert gate(*words, "10%", "--regression-exit", "7").exit_code == 0
    assert gate(*words, "0%", "--regression-exit", "7").exit_code == 7


def test_a_saved_baseline_has_its_failures(
    gate: Gate, sides: tuple[list[Path], list[Path]], tmp_path: Path
) -> None:
    """And one of an earlier version has none."""
    _, new = sides
    folder = tmp_path / "saved"
    assert gate("save", *new, "-o", folder).exit_code == 0
    again = gate(*new, "--baseline", folder, "--format", "json")
    assert again.exit_code == 0, again.stdout
    assert json.loads(again.stdout)["failed"]["why"] == (
        "more than 1 %, but no more than in a run of the baseline"
    )
    table = folder / "000001/save.json"
    told = json.loads(table.read_text())
    for one in told["runs"]:
        del one["failures"]
    table.write_text(json.dumps(told))
    result = gate(*new, "--baseline", folder)
    assert result.exit_code == 1
    told_why = "(more than 1 %; the baseline does not say how many failed: save it again, or "
    assert f"{told_why}allow them with --max-failed 10%)" in " ".join(result.stdout.split())


@pytest.mark.parametrize("text", ["1", "101%", "-1%", "nan%", ""])
def test_what_is_no_share_is_refused_in_one_line(
    gate_error: GateError, sides: tuple[list[Path], list[Path]], text: str
) -> None:
    old, new = sides
    assert gate_error(*new, "--baseline", *old, f"--max-failed={text}") == (
        f"--max-failed {text!r} is no percentage from 0% to 100%: write 1%."
    )
    with pytest.raises(limits.LimitError):
        limits.share_failed(text)
