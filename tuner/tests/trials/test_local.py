"""Trials on a machine of files with real processes: knobs are set during a trial, and only then."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from rcp.analyzer.latencies.slo import parse
from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.commands.options import local_machine
from rcp.tuner.commands.run_options import LocalOptions
from rcp.tuner.errors import TuneError
from rcp.tuner.knobs.group_cell import Groups
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.trials.local import LocalMachine
from rcp.tuner.trials.source import Source
from rcp.tuner.tuning.hopeless import abort_rule

SCHEDULER = "/sys/block/sda/queue/scheduler"
_SAY_SCHEDULER = "import sys; print('3ms'); print(open(sys.argv[1]).read(), file=sys.stderr)"
_SLOW = "import time\nwhile True:\n    print('5ms', flush=True); time.sleep(0.001)"


@pytest.fixture
def files(tmp_path: Path) -> FakeMachine:
    return fake_machine(tmp_path / "machine", patched=True)


def machine_of(files: FakeMachine, tmp_path: Path, command: Sequence[str]) -> LocalMachine:
    """This machine with the knobs of *files*, whose workload is what *command* has Python do."""
    return LocalMachine(
        command=[sys.executable, "-c", *command],
        source=Source(),
        disk="sda",
        folder=tmp_path / "trials",
        groups=Groups(),
        journal=tmp_path / "journal",
        tree=files,
        timeout_s=60,
    )


def test_knobs_are_set_while_the_workload_runs_and_put_back_after(
    files: FakeMachine, tmp_path: Path
) -> None:
    machine = machine_of(files, tmp_path, [_SAY_SCHEDULER, str(files.root / SCHEDULER[1:])])
    before = files.read(SCHEDULER)
    settings: Settings = {"disk.scheduler": "rcp", "rcp.profile": "rcp", "iosched.starve_ms": 77}
    raw = machine.trial(settings, 1, record=False)
    assert raw.failed == ""
    assert "[rcp]" in (tmp_path / "trials/trial-1/stderr.txt").read_text()
    assert files.read(SCHEDULER) == before
    assert raw.proposed == raw.settings == settings
    assert raw.run is not None
    assert [v.tolist() for v in raw.run.latencies.by_kind.values()] == [[3_000_000]]


def test_what_a_profile_sets_anyway_is_not_counted_as_set(
    files: FakeMachine, tmp_path: Path
) -> None:
    machine = machine_of(files, tmp_path, ["print('3ms')"])
    settings: Settings = {"disk.scheduler": "rcp", "rcp.profile": "ld", "iosched.tokens": 8}
    raw = machine.trial(settings, 1, record=False)
    assert raw.settings == {"disk.scheduler": "rcp", "rcp.profile": "ld"}


def test_a_workload_that_fails_says_so_and_the_knobs_are_back(
    files: FakeMachine, tmp_path: Path
) -> None:
    machine = machine_of(files, tmp_path, ["raise SystemExit(3)"])
    before = files.read(SCHEDULER)
    raw = machine.trial({"disk.scheduler": "rcp"}, 1, record=False)
    assert raw.run is None
    assert "ended with exit status 3" in raw.failed
    assert files.read(SCHEDULER) == before


def test_a_hopeless_trial_is_cut_short(files: FakeMachine, tmp_path: Path) -> None:
    machine = machine_of(files, tmp_path, [_SLOW])
    raw = machine.trial({}, 1, record=False, abort=abort_rule(parse("p99=1ms")))
    assert raw.failed == ""
    assert raw.run is not None
    assert raw.run.aborted


def test_a_server_that_runs_already_is_what_is_recorded_when_it_is_the_target() -> None:
    options = LocalOptions(
        workload=["pgbench"],
        source="pgbench:{out}/log",
        disk="sda",
        targets=["comm:postgres", "pid:7"],
        foreground=["cgroup:/server"],
    )
    expected = ["--foreground", "cgroup:/server", "--comm", "postgres", "--pid", "7"]
    assert local_machine(options, Path("trials")).record_options == expected
    with pytest.raises(TuneError) as caught:
        local_machine(replace(options, targets=["postgres"]), Path("trials"))
    assert str(caught.value) == "bad target 'postgres': write comm:GLOB, pid:N or cgroup:PATH"
