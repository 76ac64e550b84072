"""A start that goes wrong at once: what is said, and that nothing is left in the next one's way."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.cli import main
from rcp.tuner.studies.blank import remove_if_blank
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.measurement import Measurement

ENOUGH = "#!/bin/sh\nfor i in $(seq 1000); do echo 3ms; done\necho background=5 bytes/s\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    monkeypatch.chdir(tmp_path)
    return fake_machine(tmp_path / "machine", patched=False, disks=("sda",))


def script(name: str, text: str) -> None:
    Path(name).write_text(text)
    Path(name).chmod(0o755)


def run(machine: FakeMachine, *words: str, slo: str = "p99=1ms") -> Result:
    options = ["--slo", slo, "--source", "lines", "--journal", "journal"]
    return CliRunner().invoke(main, ["run", *options, *words], obj=machine)


def test_a_typo_is_told_before_anything_is_written(machine: FakeMachine, tmp_path: Path) -> None:
    before = machine.contents()
    result = run(machine, "--", "./wl.hs", "--fast")
    assert result.exit_code == 2
    assert result.stderr == (
        "rcp-tune: error: ./wl.hs --fast cannot be started: ./wl.hs does not exist: check its "
        "path.\n"
    )
    assert machine.contents() == before
    assert [path.name for path in tmp_path.iterdir()] == ["machine"]
    result = run(machine, "--dry-run", "--", "./wl.hs")
    assert (result.exit_code, result.stdout) == (2, "")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            "echo 'no database db1' >&2; exit 3",
            "the first trial failed: ./wl.sh ended with exit status 3: run it by itself; the end "
            "of its stderr: 'no database db1'",
        ),
        (
            "echo 3ms; echo 'cannot connect'; exit 1",
            "the first trial failed: ./wl.sh: stdout line 2 is neither a latency nor a result, "
            "'cannot connect'",
        ),
        ("exit 0", "the first trial failed: ./wl.sh printed no latency"),
        (
            "for i in $(seq 10); do echo 3ms; done; echo background=5 bytes/s",
            "p99=1ms cannot be judged from 10 requests: 1000 are needed, so that 10 lie beyond "
            "it: let the workload send 100 times as many in one run.",
        ),
    ],
)
def test_after_a_first_trial_without_figures_the_next_start_works(
    machine: FakeMachine, text: str, fault: str
) -> None:
    script("wl.sh", f"#!/bin/sh\n{text}\n")
    result = run(machine, "--", "./wl.sh")
    assert result.exit_code == 2
    assert result.stderr.startswith(f"rcp-tune: error: {fault}"), result.stderr
    assert result.stderr.count("\n") == 1
    assert not Path("rcp-tune.duckdb").exists()
    # Without --resume, and with another command.
    script("better.sh", ENOUGH)
    result = run(machine, "--", "./better.sh", slo="p99=1s")
    assert result.exit_code == 0, result.stderr
    assert "met already" in result.stdout


def test_a_workload_that_complains_on_stdout_is_quoted_too(machine: FakeMachine) -> None:
    script("wl.sh", "#!/bin/sh\necho starting; echo 'cannot connect'; exit 1\n")
    result = run(machine, "--source", "csv:us:{out}/x.csv", "--", "./wl.sh")
    assert "exit status 1: run it by itself; the end of its stdout: 'cannot connect'" in (
        result.stderr
    )


def test_a_process_that_does_not_run_and_a_format_that_is_none_are_told(
    machine: FakeMachine,
) -> None:
    result = run(machine, "--dry-run", "--attach", "4194304")
    assert (result.exit_code, result.stderr) == (
        2,
        "rcp-tune: error: process 4194304 does not run: name a running one.\n",
    )
    result = run(machine, "--source", "nosuch:{out}/x", "--", "true")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "rcp-tune: error: unknown format 'nosuch' in --source nosuch:{out}/x: "
        "write one of bombardier, "
    )


def test_a_typo_in_the_source_is_told_before_the_first_trial(machine: FakeMachine) -> None:
    script("wl.sh", "#!/bin/sh\ntouch ran\n")
    result = run(machine, "--source", "recordng", "--", "./wl.sh")
    assert result.exit_code == 2
    assert result.stderr.startswith("rcp-tune: error: unknown --source recordng: write recording, ")
    assert result.stderr.count("\n") == 1
    assert not Path("ran").exists()


def test_a_study_that_a_failed_start_left_before_is_begun_anew(machine: FakeMachine) -> None:
    script("better.sh", ENOUGH)
    path = Path("rcp-tune.duckdb")
    with Study.create(path, {"slo": "p99=1s", "machine": "false"}, []) as study:
        study.add("baseline", "", 1, Measurement({}, {}, None, failed="false ended"))
    result = run(machine, "--", "./better.sh", slo="p99=1s")
    assert result.exit_code == 0, result.stderr


def test_a_study_with_figures_stays_and_another_workload_is_called_one(
    machine: FakeMachine,
) -> None:
    script("better.sh", ENOUGH)
    script("other.sh", ENOUGH)
    assert run(machine, "--", "./better.sh", slo="p99=1s").exit_code == 0
    assert not remove_if_blank(Path("rcp-tune.duckdb"))
    again = run(machine, "--", "./other.sh", slo="p99=1s")
    assert "exists: continue it with --resume, or name another with --study" in again.stderr
    resumed = run(machine, "--resume", "--", "./other.sh", slo="p99=1s")
    assert resumed.stderr == (
        "rcp-tune: error: rcp-tune.duckdb is of another workload (./better.sh, here ./other.sh): "
        "run the same again, or name a new study with --study.\n"
    )


def test_a_file_that_is_no_study_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.duckdb"
    for content in (b"", b"notes"):
        path.write_bytes(content)
        assert not remove_if_blank(path)
        assert path.read_bytes() == content


def test_the_recorded_command_is_the_users(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    # As whoever runs the tests by a program that lies beside no rcp-trace.
    monkeypatch.setattr("sys.argv", [str(Path("elsewhere/rcp-tune").absolute())])
    options = ["--slo", "p99=1s", "--journal", "journal"]
    result = CliRunner().invoke(main, [*options, "--", "true"], obj=machine)
    assert result.exit_code == 2
    assert "rcp-trace does not exist: install rcp-trace there, or use --source" in result.stderr
