"""``rcp-trace gate`` on files: verdicts, exit statuses, formats, and what bad input says."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import xmlschema

from rcp.analyzer.gate.tests.conftest import Gate, GateError, MakeRuns
from rcp.analyzer.latencies.tests.layouts import EXACT

SCHEMA = xmlschema.XMLSchema(Path(__file__).parent / "junit.xsd")


def test_unchanged_passes_and_worse_fails(make_runs: MakeRuns, gate: Gate) -> None:
    base = make_runs("base")
    passed = gate(*make_runs("same"), "--baseline", *base)
    assert (passed.exit_code, passed.stdout.split(":")[0]) == (0, "pass")
    failed = gate(*make_runs("worse", factor=1.3), "--baseline", *base)
    assert failed.exit_code == 1
    assert failed.stdout.startswith("regression: p99 ")
    assert "more than 5 % and more than run-to-run noise" in " ".join(failed.stdout.split())


def test_exit_statuses_are_configurable(make_runs: MakeRuns, gate: Gate) -> None:
    base, worse = make_runs("base"), make_runs("worse", factor=1.3)
    assert gate(*worse, "-b", *base, "--regression-exit", 0).exit_code == 0
    assert gate(worse[0], "-b", base[0]).exit_code == 3
    assert gate(worse[0], "-b", base[0], "--inconclusive-exit", 0).exit_code == 0
    assert gate(worse[0], "-b", base[0], "--inconclusive", "pass").exit_code == 0


@pytest.fixture
def noisy(tmp_path: Path) -> list[object]:
    """Words for a comparison of runs that differ too much for a verdict."""
    sides = []
    for side in "ab":
        for number, factor in enumerate((0.5, 1, 2, 0.7, 3)):
            path = tmp_path / f"{side}{number}.txt"
            path.write_text("".join(f"{factor * n}us\n" for n in range(1, 3000)))
            sides.append(path)
    return [*sides[:5], "-b", *sides[5:]]


@pytest.mark.parametrize(
    ("policy", "status", "level", "element"),
    [
        ("pass", 0, "notice", "skipped"),
        ("warn", 0, "warning", "skipped"),
        ("fail", 3, "error", "error"),
    ],
)
def test_noise_is_told_as_the_policy_says(
    noisy: list[object],
    gate: Gate,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    policy: str,
    status: int,
    level: str,
    element: str,
) -> None:
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)
    words, output = [*noisy, "--inconclusive", policy], tmp_path / "gate.xml"
    result = gate(*words, "--format", "junit", "-o", output)
    assert result.exit_code == status
    assert "runs a side are needed" in " ".join(result.stdout.split())
    assert result.stderr == (
        "rcp-trace: warning: the gate cannot tell, and does not fail the build for it "
        "(--inconclusive)\n"
        if policy == "warn"
        else ""
    )
    SCHEMA.validate(output)
    (case,) = ElementTree.parse(output).getroot().iter("testcase")
    assert [child.tag for child in case] == [element]
    told = gate(*words, "--format", "github").stdout
    assert told.startswith(f"::{level} title=Latency gate inconclusive::inconclusive: p99 ")
    (quantile,) = json.loads(gate(*words, "--format", "json").stdout)["quantiles"]
    assert quantile["runs_needed"] > 5


def test_without_a_word_noise_does_not_fail_a_build(noisy: list[object], gate: Gate) -> None:
    assert gate(*noisy).exit_code == 0


def test_runs_in_turn_are_compared_with_their_neighbours(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError
) -> None:
    base, same = make_runs("base", 8, requests=2000), make_runs("same", 8, requests=2000)
    told = json.loads(gate(*same, "-b", *base, "--in-turn", "--format", "json").stdout)
    assert told["in_turn"] is True
    assert gate_error(*same[1:], "-b", *base, "--in-turn") == (
        "--in-turn needs as many runs on both sides, not 8 and 7: give both runs of each turn, or "
        "leave it out."
    )


def test_time_lost_to_others_is_known_of_recordings_only(
    make_runs: MakeRuns, gate_error: GateError, gate: Gate, tmp_path: Path
) -> None:
    runs = make_runs("run", 1, requests=10)
    assert gate_error(*runs, "-b", *runs, "--without-others") == (
        f"{runs[0]} is no recording: --without-others compares recordings, which know who held up "
        "each request."
    )
    gate("save", *runs, "-o", tmp_path / "b")
    assert gate_error(*runs, "-b", tmp_path / "b", "--without-others").startswith(
        f"{tmp_path}/b is a save: "
    )
    assert gate_error(*runs, "--slo", "p99=1ms", "--without-others").startswith("--slo bounds ")


def test_json_has_the_figures(make_runs: MakeRuns, gate: Gate) -> None:
    result = gate(
        *make_runs("worse", factor=1.3),
        *("-b", *make_runs("base")),
        *("--format", "json", "--slo", "p50=1s", "--max-regression", "p50=5%,p99=5%"),
    )
    told = json.loads(result.stdout)
    assert told["verdict"] == "regression"
    assert [one["quantile"] for one in told["quantiles"]] == ["p50", "p99"]
    low, high = told["quantiles"][1]["interval"]
    assert low < 1.3 < high
    assert told["quantiles"][1]["baseline"]["requests"] == 6 * 12_000
    assert told["slos"][0]["verdict"] == "pass"


@pytest.mark.parametrize(
    ("factor", "n", "counts"), [(1.0, 6, ("0", "0")), (1.3, 6, ("1", "0")), (1.3, 2, ("0", "1"))]
)
def test_junit_keeps_the_schema(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path, factor: float, n: int, counts: tuple[str, str]
) -> None:
    output = tmp_path / "gate.xml"
    words = [*make_runs("b", n, factor), "-b", *make_runs("a", n), "--slo", "p50=1s"]
    result = gate(*words, "--format", "junit", "-o", output)
    SCHEMA.validate(output)
    suite = ElementTree.parse(output).getroot()[0]
    assert (suite.get("failures"), suite.get("errors")) == counts
    assert result.exit_code == {("0", "0"): 0, ("1", "0"): 1}.get(counts, 3)
    assert suite.get("tests") == "2"
    assert result.stdout.startswith(("pass", "regression", "inconclusive"))


def test_github_gets_annotations_a_summary_and_a_chart(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    result = gate(
        *make_runs("b", factor=1.3), "-b", *make_runs("a"), "--format", "github", "--slo", "p99=1ms"
    )
    first = result.stdout.splitlines()[0]
    assert first.startswith("::error title=Latency regression::regression: p99 ")
    assert "%25" in first
    text = summary.read_text()
    assert text.startswith("before\n### ❌ Latency gate: regression: p99 ")
    assert "| p99 | " in text
    assert "| p99=1ms | " in text
    assert "```mermaid\nxychart-beta\n" in text
    assert "x-axis [p50, p90, p95, p99, p99.9]" in text


def test_the_picture_is_an_svg_of_both_sides(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path
) -> None:
    picture = tmp_path / "tail.svg"
    gate(*make_runs("b"), "-b", *make_runs("a"), "--picture", picture)
    root = ElementTree.parse(picture).getroot()
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 2
    assert all(len((line.get("points") or "").split()) > 8 for line in lines)


def test_a_missing_baseline_says_how_to_save_one(
    make_runs: MakeRuns, gate_error: GateError
) -> None:
    runs = make_runs("run", 2, requests=10)
    assert gate_error(*runs, "--baseline", "ci/baseline") == (
        "there is no baseline ci/baseline: save the first one with "
        f"`rcp-trace gate save {runs[0]} {runs[1]} -o ci/baseline`."
    )


def test_a_baseline_that_takes_all_words_is_told(
    make_runs: MakeRuns, gate_error: GateError
) -> None:
    assert gate_error("--baseline", *make_runs("run", 2, requests=10)) == (
        "no candidate given: name its runs before --baseline."
    )


def test_nothing_to_compare_with_is_told(make_runs: MakeRuns, gate_error: GateError) -> None:
    assert gate_error(*make_runs("run", 1, requests=10)) == (
        "nothing to compare with: give --baseline, or bounds with --slo."
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.txt", "", "{path} is empty: the program wrote no latencies."),
        (
            "x.txt",
            "1ms\nnan\n",
            "{path} line 2 is not a number, 'nan': leave out what was not measured.",
        ),
        (
            "x.txt",
            "1ms\n-2ms\n",
            "{path} line 2 is negative, '-2ms': use a monotonic clock.",
        ),
        (
            "x.txt",
            "1ms\n2\n",
            "{path} line 2 has no unit, earlier lines have one, '2': print it on every line.",
        ),
        (
            "x.log",
            "0, 100, 0, 4096, 0\n1, 10",
            "{path} ends in the middle of line 2: the program was killed or is still running; "
            "take a finished file, or remove the line.",
        ),
        (
            "x.csv",
            "latency_us\n1\nnan\n",
            "{path} has NaN as latency 2: leave out requests that were not timed.",
        ),
        (
            "x.json",
            '{"fio version" : "fio-3.39", "jobs" : [',
            "{path} is not a complete result: fio was killed or is still running; run it again.",
        ),
    ],
)
def test_bad_files_are_named_with_fault_and_remedy(
    tmp_path: Path, gate_error: GateError, name: str, text: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert gate_error(path, "-b", path) == message.format(path=path)


@pytest.mark.parametrize(
    ("name", "text", "fault"),
    [
        ("x.txt", "12\n13\n", "{path} line 1 has no unit, '12': print one (12ms), or "),
        ("x.csv", "n,took\n1,2\n", "{path} does not say the unit of 'took': name it took_us, or "),
        (
            "x.jsonl",
            '{"took": 2}\n',
            "{path} does not say the unit of 'took': name it took_us, or ",
        ),
    ],
)
def test_a_missing_unit_is_asked_for_by_the_gates_own_flag(
    tmp_path: Path, gate_error: GateError, name: str, text: str, fault: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    column = "" if name == "x.txt" else ":took"
    said = gate_error(f"{path}{column}", "--slo", "p50=1s")
    assert said == fault.format(path=path) + "give --unit ms (or ns, us, s)."


def test_rcp_tunes_way_to_name_a_format_is_translated(
    tmp_path: Path, gate_error: GateError
) -> None:
    path = tmp_path / "nums.txt"
    path.write_text("12\n")
    assert gate_error(f"lines:ms:{path}", "--slo", "p50=1s") == (
        f"lines:ms:{path} is how rcp-tune names a format: here write {path} --input-format lines "
        "--unit ms."
    )
    assert gate_error(f"fio-log:{path}", "--slo", "p50=1s") == (
        f"fio-log:{path} is how rcp-tune names a format: here write {path} --input-format fio-log."
    )


@pytest.mark.parametrize("name", sorted(EXACT))
def test_each_format_is_compared_with_plain_lines(tmp_path: Path, gate: Gate, name: str) -> None:
    """The same latencies on both sides, in another format each: nothing has changed."""
    generator = np.random.default_rng(1)
    plain: list[Path] = []
    other: list[Path] = []
    for number in range(5):
        ns = (generator.integers(1, 400, 500) * 1_000_000).tolist()
        for format, paths in (("lines", plain), (name, other)):
            paths.append(tmp_path / f"{format}{len(paths)}{number}")
            paths[-1].write_text(EXACT[format](ns))
    result = gate(*other, "-b", *plain, "--format", "json", "--max-regression", "p90=5%")
    (one,) = json.loads(result.stdout)["quantiles"]
    assert (one["ratio"], one["verdict"]) == (1, "pass")


def test_kinds_that_have_names_are_not_mixed_up(tmp_path: Path, gate_error: GateError) -> None:
    reads, writes = tmp_path / "r", tmp_path / "w"
    reads.write_text("read 1ms\n")
    writes.write_text("write 1ms\n")
    assert gate_error(reads, "-b", writes).startswith("no kind of request is in all runs")


def test_one_latency_is_not_enough(tmp_path: Path, gate: Gate) -> None:
    path = tmp_path / "one.txt"
    path.write_text("1ms\n")
    result = gate(path, "-b", path, "--format", "json")
    assert result.exit_code == 3
    assert json.loads(result.stdout)["refused"].startswith("the only latency of ")


def test_a_closed_loop_can_be_corrected(tmp_path: Path, gate: Gate) -> None:
    path = tmp_path / "stall.txt"
    path.write_text("1ms\n" * 9999 + "2s\n")
    told = json.loads(gate(path, "--slo", "p99=10ms", "--format", "json").stdout)
    assert told["slos"][0]["verdict"] == "pass"
    result = gate(path, "--slo", "p99=10ms", "--interval", "1ms", "--format", "json")
    (slo,) = json.loads(result.stdout)["slos"]
    # 1999 requests more, from 1.999 s down to 1 ms: the 120th longest of 11,999
    assert slo["candidate"]["value_ns"] == 1_881_000_000
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--interval", "soon"), "--interval 'soon' is not a duration: write one such as 1ms."),
        (
            ("--max-regression", "p99=5"),
            "'p99=5' has no percentage above 0: write one such as p99=5%@fsync.",
        ),
        (("--slo", "p99"), "'p99' is not a valid SLO: write one such as p99=10ms@fsync."),
    ],
)
def test_bad_options_are_told(
    make_runs: MakeRuns, gate_error: GateError, words: tuple[str, ...], message: str
) -> None:
    (path,) = make_runs("x", 1, requests=10)
    assert gate_error(path, "-b", path, *words) == message
