"""Baselines in a folder, and their history."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from rcp.analyzer.gate.history import Point, drifts
from rcp.analyzer.gate.saved import SavedRun, load, save, saves
from rcp.analyzer.gate.saving import prune
from rcp.analyzer.gate.side import Reading, read_side
from rcp.analyzer.gate.tests.conftest import Gate, GateError, MakeRuns
from rcp.analyzer.latencies.latency import Latencies
from rcp.analyzer.latencies.slo import measure, parse


def test_what_is_saved_is_read_again(tmp_path: Path) -> None:
    told = Latencies(
        "x.log",
        {"read": np.array([5, 3, 3]), "write": np.array([9])},
        open_loop=True,
        outermost=np.array([3, 9]),
    )
    save(tmp_path / "b", [SavedRun(told, {"kernel": "6.1"}, 7.0)], saved="2026-01-01", label="abc")
    (run,) = load(tmp_path / "b").runs
    assert (run.host, run.lost_ppm) == ({"kernel": "6.1"}, 7.0)
    assert run.latencies.open_loop is True
    assert run.latencies.outermost is not None
    assert run.latencies.outermost.tolist() == [3, 9]
    for text in ("p50=1ms@read", "max=1ms@read", "max=1ms@write", "p50=1ms"):
        (slo,) = parse(text)
        assert measure(slo, run.latencies) == measure(slo, told)


def test_what_a_recording_no_longer_has_is_saved(tmp_path: Path) -> None:
    whole = Latencies("x", {"read": np.array([1])})
    cut = "Incomplete recording: 1 of 2 sleep records are missing or damaged."
    save(tmp_path, [SavedRun(whole, {}, 5e5, incomplete=cut)], saved="2026-01-01", label="")
    (run,) = read_side([str(tmp_path)], Reading())
    assert run.incomplete == cut
    table = tmp_path / "000001/save.json"
    told = json.loads(table.read_text())
    del told["runs"][0]["incomplete"]  # as an earlier rcp wrote it
    table.write_text(json.dumps(told))
    assert [run.incomplete for run in load(tmp_path).runs] == [""]


def test_saves_are_added_and_old_ones_forgotten(tmp_path: Path) -> None:
    one = [SavedRun(Latencies("x", {"read": np.array([1])}), {}, 0.0)]
    for number in range(4):
        save(tmp_path, one, saved=f"2026-01-0{number + 1}", label="")
    pruned = prune(tmp_path, 2)
    assert [path.name for path in pruned.removed] == ["000001", "000002"]
    assert pruned.unread == []
    assert [kept.saved for kept in saves(tmp_path)] == ["2026-01-03", "2026-01-04"]
    save(tmp_path, one, saved="2026-01-05", label="")
    assert saves(tmp_path)[-1].folder.name == "000005"


def test_the_gate_compares_with_the_last_save(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path
) -> None:
    base = tmp_path / "ci/baseline"
    saved = gate("save", *make_runs("old", factor=2.0), "-o", base)
    assert saved.stdout == f"{base}/000001 written: 6 runs.\n"
    gate("save", *make_runs("new"), "-o", base, "--label", "v2")
    assert gate(*make_runs("run"), "--baseline", base).exit_code == 0
    assert gate(*make_runs("run"), "--baseline", base / "000001").stdout.startswith("improvement")
    again = gate("save", *make_runs("new"), "-o", base, "--keep", 1)
    assert again.stdout == f"{base}/000003 written: 6 runs, 2 older saves removed.\n"


def test_a_damaged_save_is_told(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError, tmp_path: Path
) -> None:
    runs = make_runs("x", 1, requests=10)
    gate("save", *runs, "-o", tmp_path / "b")
    table = tmp_path / "b/000001/save.json"
    table.write_text(table.read_text()[:30])
    assert gate_error(*runs, "-b", tmp_path / "b") == (
        f"{table} is damaged (JSONDecodeError): remove its folder, or restore it."
    )
    table.write_text('{"version": 99}')
    assert gate_error(*runs, "-b", tmp_path / "b") == (
        f"{table} has version 99, not 1: save it again."
    )


def _damage(save: Path, how: str) -> None:
    table = save / "save.json"
    if how == "cut table":
        table.write_text(table.read_text()[:30])
    elif how == "no table":
        table.unlink()
    elif how == "no runs in the table":
        table.write_text('{"version": 1, "saved": "2026-01-01", "label": ""}')
    elif how == "run without its figures":
        told = json.loads(table.read_text())
        del told["runs"][0]["host"]
        table.write_text(json.dumps(told))
    elif how == "cut run":
        run = save / "1.parquet"
        run.write_bytes(run.read_bytes()[:40])
    else:
        (save / "1.parquet").unlink()


_DAMAGES = (
    *("cut table", "no table", "no runs in the table", "run without its figures"),
    *("cut run", "no run"),
)


@pytest.mark.parametrize("how", _DAMAGES)
def test_a_damaged_last_save_gives_way_to_the_one_before(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path, how: str
) -> None:
    base = tmp_path / "b"
    for name, factor in (("first", 2.0), ("second", 1.0), ("third", 3.0)):
        gate("save", *make_runs(name, factor=factor), "-o", base)
    _damage(base / "000003", how)
    told = json.loads(gate(*make_runs("run"), "-b", base, "--format", "json").stdout)
    assert told["verdict"] == "pass"
    (warning,) = [text for text in told["warnings"] if "left out" in text]
    assert warning.startswith(f"{base}: 1 of 3 saves is left out, 000002 is used: {base}/000003/")
    assert gate("save", *make_runs("fourth"), "-o", base).stdout.startswith(
        f"{base}/000004 written"
    )


@pytest.mark.parametrize("how", _DAMAGES)
def test_a_damaged_old_save_is_left_out_of_the_history(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path, how: str
) -> None:
    base = tmp_path / "b"
    for number in range(3):
        gate("save", *make_runs(f"s{number}", 1, requests=50), "-o", base)
    _damage(base / "000002", how)
    result = gate("history", base, "--quantile", "p50", "--format", "json")
    told = json.loads(result.stdout)
    assert [point["name"] for point in told["points"]] == ["000001", "000003"]
    assert told["warnings"][0].startswith(f"{base}: 1 of 3 saves is left out: {base}/000002/")
    assert f"rcp-trace: {base}: 1 of 3 saves is left out" in result.stderr


def test_a_damaged_old_save_does_not_disable_the_last(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path
) -> None:
    base = tmp_path / "b"
    for name in ("old", "new"):
        gate("save", *make_runs(name), "-o", base)
    _damage(base / "000001", "cut table")
    result = gate(*make_runs("run"), "-b", base)
    assert result.stdout.startswith("pass")
    assert "1 of 2 saves is left out, 000002 is used" in " ".join(result.stdout.split())


def test_a_baseline_of_damaged_saves_only_is_an_error(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError, tmp_path: Path
) -> None:
    base, runs = tmp_path / "b", make_runs("x", 1, requests=10)
    gate("save", *runs, "-o", base)
    _damage(base / "000001", "cut run")
    for words in ((*runs, "-b", base), (*runs, "-b", base / "000001"), ("history", base)):
        said = gate_error(*words)
        assert f"{base}/000001/1.parquet is damaged" in said
        assert said.endswith("remove its folder, or restore it.")


def test_damaged_saves_do_not_count_among_those_kept(tmp_path: Path) -> None:
    one = [SavedRun(Latencies("x", {"read": np.array([1])}), {}, 0.0)]
    for number in range(5):
        save(tmp_path, one, saved=f"2026-01-0{number + 1}", label="")
    for name in ("000001", "000004"):
        _damage(tmp_path / name, "cut table")
    pruned = prune(tmp_path, 2)
    assert [path.name for path in pruned.removed] == ["000001", "000002"]
    assert [path.name for path in pruned.unread] == ["000004"]
    assert [kept.folder.name for kept in saves(tmp_path)] == ["000003", "000005"]


def _points(values: list[float]) -> list[Point]:
    return [
        Point(f"{place:06}", "", "2026-01-01", value * 1e6) for place, value in enumerate(values)
    ]


def test_a_step_that_stays_is_found_and_one_bad_save_is_not() -> None:
    generator = np.random.default_rng(2)
    noise = np.exp(generator.normal(0, 0.03, 40))
    step = noise * np.where(np.arange(40) >= 25, 1.15, 1.0)
    (found,) = drifts(_points(step.tolist()))
    assert abs(int(found.point.name) - 25) <= 1
    assert found.ratio == pytest.approx(1.15, abs=0.04)
    spike = noise.copy()
    spike[20] *= 1.3
    assert drifts(_points(spike.tolist())) == []
    assert drifts(_points([1, 1, 1, 2, 2])) == []


def test_a_history_without_change_is_rarely_called_one() -> None:
    generator = np.random.default_rng(4)
    alarms = [
        bool(drifts(_points(np.exp(generator.normal(0, 0.05, 40)).tolist()))) for _ in range(200)
    ]
    assert sum(alarms) <= 10


def test_history_lists_saves_and_draws_them(
    make_runs: MakeRuns, gate: Gate, gate_error: GateError, tmp_path: Path
) -> None:
    base, plot = tmp_path / "b", tmp_path / "p.svg"
    assert gate_error("history", base) == (
        f"{base} holds no baseline: save one with `rcp-trace gate save RUN… -o {base}`."
    )
    assert gate_error("history", base, "--quantile", "p98@fsync") == (
        "'p98' is not a percentile: write one of p50, p90, p95, p99, p999, p9999, max, or tail50, "
        "tail90, tail95, tail99, tail999, tail9999."
    )
    for number, factor in enumerate((1, 1.01, 1, 1.5, 1.5, 1.51)):
        gate(
            *("save", *make_runs(f"s{number}", 3, factor, 2000), "-o", base),
            *("--label", f"v{number}"),
        )
    text = gate("history", base, "--picture", plot).stdout
    assert "v3" in text
    assert text.count("from here on") == 1
    assert plot.read_text().count("<circle") == 6
    told = json.loads(gate("history", base, "--format", "json", "--quantile", "p50").stdout)
    assert [drift["point"]["label"] for drift in told["drifts"]] == ["v3"]


@pytest.mark.parametrize(
    ("n", "requests", "warnings"),
    [
        (
            1,
            12_000,
            [
                "1 run saved, 5 are needed and 8 are better: every comparison with this save will "
                "be inconclusive"
            ],
        ),
        (
            2,
            3000,
            [
                "2 runs saved, 5 are needed and 8 are better: every comparison with this save will "
                "be inconclusive",
                "p99 cannot be compared with this save: the save has 6000 requests, 10000 are "
                "needed for 100 beyond the p99: 5 such runs",
            ],
        ),
        (
            5,
            300,
            [
                "p99 cannot be compared with this save: a run of the save has 300 requests, 1000 "
                "are needed"
            ],
        ),
        (5, 3000, []),
    ],
)
def test_a_save_that_no_comparison_can_use_is_told_at_once(
    make_runs: MakeRuns, gate: Gate, tmp_path: Path, n: int, requests: int, warnings: list[str]
) -> None:
    result = gate("save", *make_runs("s", n, requests=requests), "-o", tmp_path / "b")
    assert result.exit_code == 0
    assert result.stderr.splitlines() == [f"rcp-trace: warning: {text}." for text in warnings]
