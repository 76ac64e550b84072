"""The command line of rcp-tune: errors in one line, exit 2, and nothing written."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.tuner.cli import main
from rcp.tuner.commands.interrupted import resume_hint
from rcp.tuner.tests.toy import ToyMachine, tune


def _error(*words: str) -> str:
    result = CliRunner().invoke(main, list(words))
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    return result.stderr


def test_without_an_slo_it_says_how_to_choose_one() -> None:
    assert _error("--lab", "wal-vs-checkpoint") == (
        "rcp-tune: error: no --slo: choose one from a recording: `rcp-trace report FILE` prints "
        "p99 and p99.9 of each kind of request; start with a bound between the latency now and the "
        "latency without the background work, such as --slo p999=50ms@fsync.\n"
    )


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ["--slo", "p98=5ms", "--lab", "x"],
            "'p98=5ms' has the unknown percentile 'p98': write one of "
            "p50, p90, p95, p99, p999, p9999, max.",
        ),
        (
            ["--slo", "p99=5ly", "--lab", "x"],
            "'p99=5ly' has the unknown unit 'ly': write one of ns, us, ms, s.",
        ),
        (
            ["--slo", "p99=5ms,p99=6ms", "--lab", "x"],
            "'p99=5ms' and 'p99=6ms' contradict each other: keep one.",
        ),
        (
            ["--slo", "p99=5ms", "--objective", "speed", "--lab", "x"],
            "unknown objective 'speed': write background, throughput, or a quantile such as p99 "
            "or p99@fsync.",
        ),
        (
            ["--slo", "p99=5ms", "--lab", "x", "--", "true"],
            "a scenario of the lab has its own workload: leave out what is after --.",
        ),
        (
            ["--slo", "p99=5ms", "--lab", "sqlite", "--dry-run"],
            "--lab sqlite: this scenario has no trials: choose pgbench-vs-checkpoint, "
            "reads-vs-compaction, reads-vs-writers or wal-vs-checkpoint.",
        ),
        (
            ["--slo", "p99=5ms", "--kernel", "rcp", "--dry-run", "--", "true"],
            "--kernel is an option of the lab: add --lab SCENARIO.",
        ),
        (
            ["--slo", "p99=5ms", "-e", "REQUESTS=9", "--dry-run", "--", "true"],
            "--env is an option of the lab: add --lab SCENARIO.",
        ),
        (
            ["--slo", "p99=5ms", "--lab", "x", "--source", "lines"],
            "--source does not go with --lab: leave out one of the two.",
        ),
        (
            ["--slo", "p99=5ms", "--lab", "x", "--knobs", "my.toml"],
            "--knobs my.toml: the lab takes auto, rcp or stock.",
        ),
        (
            ["--slo", "p99=5ms", "--window", "5s", "--", "true"],
            "--window is the length of a trial with --attach: add it, or leave it out.",
        ),
        (
            ["--slo", "p99=5ms", "--attach", "1", "--", "true"],
            "--attach measures a process that runs: leave out what is after --.",
        ),
        (
            ["--slo", "p99=5ms", "--dry-run"],
            "no workload: put its command after --, or use --lab SCENARIO.",
        ),
        (
            ["--slo", "p99=5ms", "--dry-run", "--foreground", "postgres", "--", "true"],
            "bad group 'postgres': write comm:GLOB, pid:N or cgroup:PATH.",
        ),
        (
            [
                "--slo",
                "p99=5ms",
                "--dry-run",
                "--disk",
                "nodisk",
                "--knobs",
                "no.toml",
                "--",
                "true",
            ],
            "--knobs no.toml: no such file: write rcp, stock, auto or a TOML file.",
        ),
        (["status", "no.duckdb"], "no.duckdb does not exist: `rcp-tune --slo …` makes a study."),
    ],
)
def test_what_cannot_be_understood_is_said_in_one_line(words: list[str], error: str) -> None:
    assert _error(*words) == f"rcp-tune: error: {error}\n"


def test_a_file_that_is_no_study_is_named(tmp_path: Path) -> None:
    file = tmp_path / "notes.duckdb"
    file.write_text("no database")
    assert _error("explain", str(file)) == (
        f"rcp-tune: error: {file} is not a study of rcp-tune: name the file that --study wrote.\n"
    )


def test_a_study_is_not_overwritten(tmp_path: Path) -> None:
    study = tmp_path / "s.duckdb"
    study.write_bytes(b"")
    assert _error(*("--slo", "p99=5ms", "--lab", "wal-vs-checkpoint", "--study", str(study))) == (
        f"rcp-tune: error: {study} exists: continue it with --resume, or name another with "
        "--study.\n"
    )
    assert study.read_bytes() == b""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_a_tuning_with_a_word_on_how_to_go_on(
    tmp_path: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "s.duckdb"
    study.touch()
    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended, resume_hint(study):
        os.kill(os.getpid(), number)
        time.sleep(10)
    assert ended.value.code == 128 + number
    told = f"rcp-tune: ended by a signal: continue {study} with --resume\n"
    assert capsys.readouterr().err == told
    assert signal.getsignal(number) == before


def test_the_name_of_run_may_be_left_out() -> None:
    with_name = CliRunner().invoke(main, ["run", "--slo", "p98=1ms", "--lab", "x"])
    without = CliRunner().invoke(main, ["--slo", "p98=1ms", "--lab", "x"])
    assert with_name.stderr == without.stderr


def test_help_has_examples_everywhere() -> None:
    for name, command in main.commands.items():
        if not command.hidden:
            assert "Examples:" in (command.help or ""), name


def test_a_study_is_told_in_json(tmp_path: Path, toy_study: Path) -> None:
    for command in ("status", "show", "explain"):
        result = CliRunner().invoke(main, [command, str(toy_study), "--format", "json"])
        assert result.exit_code == 0, result.output
        json.loads(result.stdout)
    csv = tmp_path / "trials.csv"
    assert CliRunner().invoke(main, ["export", str(toy_study), "-o", str(csv)]).exit_code == 0
    printed = CliRunner().invoke(main, ["export", str(toy_study), "-o", "-"]).stdout
    assert printed.splitlines() == csv.read_text().splitlines()
    assert csv.read_text().splitlines()[0] == (
        "trial_id,phase,seed,wall_s,objective,failed,p99=9ms,disk.scheduler,iosched.tokens"
    )


def test_two_studies_are_set_side_by_side(tmp_path: Path, toy_study: Path) -> None:
    other = tmp_path / "other.duckdb"
    other.write_bytes(toy_study.read_bytes())
    result = CliRunner().invoke(main, ["compare", str(toy_study), str(other)])
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    assert lines[0] == [str(toy_study), str(other)]
    assert ["outcome", "met", "met"] in lines
    assert ["objective", "80", "bytes/s", "80", "bytes/s"] in lines


def test_studies_of_unlike_machines_are_not_compared(tmp_path: Path, toy_study: Path) -> None:
    other = tmp_path / "other.duckdb"
    tune(other, ToyMachine(name="another toy"), "p99=9ms").close()
    assert _error("compare", str(toy_study), str(other)) == (
        f"rcp-tune: error: {other} is of another workload (another toy, here toy): compare "
        "studies of one machine and workload.\n"
    )


@pytest.mark.parametrize(
    ("word", "hint"),
    [("expalin", " Did you mean 'explain'?"), ("zzz", ""), ("sdow", " Did you mean 'show'?")],
)
def test_a_mistyped_command_is_no_workload(word: str, hint: str) -> None:
    assert _error(word, "rcp-tune.duckdb").endswith(f"Error: No such command {word!r}.{hint}\n")
