"""Others can read a study while a tuning uses it, and no second tuner can open it."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.db.store import StoreError
from rcp.fixtures.processes import HANG_S
from rcp.tuner.cli import main
from rcp.tuner.errors import LockedError, TuneError
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies import file_lock
from rcp.tuner.studies.study import Study
from rcp.tuner.tests.toy import ToyMachine, tune
from rcp.tuner.trials.raw import RawTrial
from rcp.tuner.trials.workload import Abort
from rcp.ui.studies import read

# Holds a study as a program does that knows nothing of rcp, until its stdin is closed.
OTHER = """
import sys
from pathlib import Path
from rcp.analyzer.db.store import open_other
with open_other(Path(sys.argv[1]), "", read_only=sys.argv[2] == "reads"):
    print("open", flush=True)
    sys.stdin.read()
"""


@contextmanager
def other(study: Path, doing: str) -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-c", OTHER, str(study), doing]
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert program.stdout is not None
    try:
        assert program.stdout.readline() == b"open\n"
        yield program
    finally:
        assert program.stdin is not None
        program.stdin.close()
        program.wait(HANG_S)
        program.stdout.close()


class Watched(ToyMachine):
    """In its fifth trial every reader looks at the study."""

    def __init__(self, study: Path) -> None:
        super().__init__()
        self.study = study
        self.statuses: dict[str, tuple[int, str]] = {}
        self.resumed: list[str] = []
        self.seen = 0

    def trial(
        self, settings: Settings, seed: int, *, record: bool, abort: Abort | None = None
    ) -> RawTrial:
        if seed == 5:
            for words in (["status"], ["show"], ["explain"], ["export"], ["compare", self.study]):
                done = CliRunner().invoke(main, [*map(str, words), str(self.study)])
                self.statuses[str(words[0])] = (done.exit_code, done.stdout)
            self.seen = len(read(self.study).trials)
            again = ["--slo", "p99=9ms", "--lab", "x", "--resume", "--study", str(self.study)]
            self.resumed.append(CliRunner().invoke(main, again).stderr)
        return super().trial(settings, seed, record=record, abort=abort)


@pytest.fixture
def watched(tmp_path: Path) -> Watched:
    machine = Watched(tmp_path / "s.duckdb")
    tune(machine.study, machine, "p99=9ms").close()
    return machine


def test_every_reader_can_look_at_a_study_while_a_trial_runs(watched: Watched) -> None:
    assert {name: status for name, (status, _) in watched.statuses.items()} == dict.fromkeys(
        ("status", "show", "explain", "export", "compare"), 0
    )
    told = "p99=9ms: unfinished; trials: 1 baseline, 1 record, 2 search; "
    assert watched.statuses["status"][1].startswith(told)
    assert len(watched.statuses["show"][1].splitlines()) == 5
    assert watched.seen == 4


def test_nobody_else_can_tune_with_it_meanwhile(watched: Watched) -> None:
    assert watched.resumed == [
        f"rcp-tune: error: {watched.study}: another rcp-tune is using it: wait until it "
        "ends, or stop it.\n"
    ]


def test_a_tuner_that_is_gone_lets_others_in(tmp_path: Path) -> None:
    study = tmp_path / "s.duckdb"
    with pytest.raises(KeyboardInterrupt):
        tune(study, ToyMachine(die_after=3), "p99=9ms")
    Study.open(study, read_only=False).close()
    with Study.open(study, read_only=False), pytest.raises(LockedError):
        Study.open(study, read_only=False)


def test_no_trial_is_lost_to_who_keeps_the_study_open(
    tmp_path: Path, toy_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    monkeypatch.setattr(file_lock, "PATIENCE_S", 0.5)
    said: list[str] = []
    with ExitStack() as stack, Study.open(path, read_only=False) as study:
        before = len(study.trials())
        programs: list[subprocess.Popen[bytes]] = []

        def say(text: str) -> None:
            said.append(text)
            assert programs[0].stdin is not None
            programs[0].stdin.close()

        with study.released(say):
            programs.append(stack.enter_context(other(path, "reads")))
        assert len(study.trials()) == before > 0
    assert said == [f"{path} is open in another program: waiting until it is closed"]


def test_a_study_that_another_program_writes_is_told_in_one_line(
    tmp_path: Path, toy_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    monkeypatch.setattr(file_lock, "PATIENCE_S", 0.2)
    with other(path, "writes"):
        result = CliRunner().invoke(main, ["status", str(path)])
        with pytest.raises(StoreError) as refused:
            read(path)
    told = f"{path} is being written by another process: try again."
    assert (result.exit_code, result.stderr) == (2, f"rcp-tune: error: {told}\n")
    assert str(refused.value) == told


def test_a_reader_waits_for_who_writes_but_a_moment(
    tmp_path: Path, toy_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_lock, "PATIENCE_S", HANG_S)
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    with other(path, "writes") as program:
        assert program.stdin is not None
        threading.Timer(1, program.stdin.close).start()
        result = CliRunner().invoke(main, ["status", str(path)])
    assert result.exit_code == 0, result.stderr


def test_a_study_that_is_removed_meanwhile_is_not_made_again(
    tmp_path: Path, toy_study: Path
) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    study = Study.open(path, read_only=False)
    with pytest.raises(TuneError) as gone, study.released(print):
        path.unlink()
    study.close()
    assert str(gone.value) == (
        f"{path} was removed while a trial ran: restore the file, or start a new study"
    )
    assert not path.exists()
