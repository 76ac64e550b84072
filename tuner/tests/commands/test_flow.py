"""One tuning of a user's own knob through all commands, killed once on the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.cli import main
from rcp.tuner.session.kept import INSTALLED
from rcp.tuner.studies.study import Study

SWAPPINESS = "/proc/sys/vm/swappiness"
KNOBS = f"""
[knobs."my.swappiness"]
path = "{SWAPPINESS}"
what = "how willingly anonymous memory is swapped out"
unit = "%"
low = 0
high = 100
default = 60
"""
# Slower and with more background by each percent; the fourth trial kills the tuner, once. Its
# parent is the supervisor, whose parent is the tuner.
WORKLOAD = """#!/bin/sh
value=$(cat machine/proc/sys/vm/swappiness)
if [ "$SEED" = 4 ] && [ ! -e killed ]; then
    touch killed
    kill -9 "$(cut -d ' ' -f 4 "/proc/$PPID/stat")"
fi
# Latencies come last: they may end a hopeless trial at once.
echo "background=$((value + 1)) bytes/s"
yes "$((value / 2 + 1))ms" | head -n 1000
"""
PROGRAM = """
import sys
from pathlib import Path
from rcp.fixtures.fake_machine import FakeMachine
from rcp.tuner.cli import main
main(sys.argv[1:], obj=FakeMachine(Path("machine").absolute()))
"""
TUNE = (
    *("--slo", "p99=10ms", "--knobs", "my.toml", "--source", "lines", "--journal", "journal"),
    *("--search", "random", "--trials", "8", "--confirm", "2", "--no-record"),
)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    monkeypatch.chdir(tmp_path)
    Path("my.toml").write_text(KNOBS)
    Path("wl.sh").write_text(WORKLOAD)
    Path("wl.sh").chmod(0o755)
    return fake_machine(tmp_path / "machine", patched=False, disks=("sda",))


def invoke(machine: FakeMachine, *words: str, status: int = 0) -> Result:
    result = CliRunner().invoke(main, list(words), obj=machine)
    assert result.exit_code == status, result.output + result.stderr
    return result


def killed_and_restored(machine: FakeMachine) -> None:
    """A tuner that kills itself in its fourth trial, and what `restore` makes of it."""
    before = machine.contents()
    command = [sys.executable, "-c", PROGRAM, *TUNE, "--", "./wl.sh"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    assert machine.contents() != before
    dry = invoke(machine, "restore", "--journal", "journal", "--dry-run")
    assert f"echo 60 > {SWAPPINESS}" in dry.stdout
    assert invoke(machine, "restore", "--journal", "journal").stdout == (
        "my.swappiness: restored to 60.\n"
    )
    assert machine.contents() == before
    state = json.loads(invoke(machine, "status", "--format", "json").stdout)
    assert (state["outcome"], state["trials"]) == ("unfinished", {"baseline": 1, "search": 2})


def test_a_knob_of_a_users_own_goes_through_all_commands(
    machine: FakeMachine, tmp_path: Path
) -> None:
    killed_and_restored(machine)
    before = machine.contents()
    result = invoke(machine, *TUNE, "--resume", "--", "./wl.sh")
    assert machine.contents() == before
    assert "met, and confirmed by 2 fresh runs" in result.stdout
    state = json.loads(invoke(machine, "status", "--format", "json").stdout)
    assert (state["outcome"], state["failed"]) == ("met", 0)
    rows = json.loads(invoke(machine, "show", "--format", "json").stdout)
    assert [row["trial_id"] for row in rows] == list(range(1, len(rows) + 1))
    assert "my.swappiness: 60 → " in invoke(machine, "explain").stdout
    # What follows needs the study alone.
    Path("my.toml").unlink()
    with Study.open(Path("rcp-tune.duckdb"), read_only=True) as study:
        value = study.verdict()["verdict"]["settings"]["my.swappiness"]
    assert value <= 18
    keep_and_verify(machine, value)
    assert invoke(machine, "restore", "--journal", "journal").stdout == (
        "journal/journal: nothing to restore.\n"
    )


def keep_and_verify(machine: FakeMachine, value: int) -> None:
    file = machine.path(INSTALLED[0])
    file.parent.mkdir(parents=True)
    invoke(machine, "keep", "rcp-tune.duckdb", "--format", "sysctl", "-o", str(file))
    assert file.read_text().endswith(f"\n\nvm.swappiness = {value}\n")
    undo = invoke(machine, "keep", "rcp-tune.duckdb", "--format", "undo")
    assert undo.stdout.endswith(f"\necho 60 > {SWAPPINESS}\n")
    for source in ([], ["rcp-tune.duckdb"]):
        result = invoke(machine, "verify", *source, status=1)
        assert f"my.swappiness: 60, kept as {value}" in result.stdout
    machine.store(SWAPPINESS, str(value))
    for source in ([], ["rcp-tune.duckdb"]):
        assert "1 of 1 knob of " in invoke(machine, "verify", *source).stdout
    machine.path(SWAPPINESS).unlink()
    for source in ([], ["rcp-tune.duckdb"]):
        found = json.loads(invoke(machine, "verify", *source, "--format", "json", status=1).stdout)
        assert [one["state"] for one in found["knobs"]] == ["missing"]
    assert "there is no /proc/sys/vm/swappiness on this machine" in (
        invoke(machine, "keep", "rcp-tune.duckdb", status=2).stderr
    )


def test_a_file_of_knobs_that_changed_is_not_gone_on_with(machine: FakeMachine) -> None:
    Path("killed").touch()
    invoke(machine, *TUNE, "--", "./wl.sh")
    Path("my.toml").write_text(KNOBS.replace("high = 100", "high = 99"))
    result = invoke(machine, *TUNE, "--resume", "--", "./wl.sh", status=2)
    assert result.stderr == (
        "rcp-tune: error: my.toml has changed since rcp-tune.duckdb was begun: restore it, or "
        "start a new study.\n"
    )


def test_an_older_study_asks_for_the_file_and_takes_it(machine: FakeMachine) -> None:
    Path("killed").touch()
    invoke(machine, *TUNE, "--", "./wl.sh")
    with Study.open(Path("rcp-tune.duckdb"), read_only=False) as study:
        study._store.write("DELETE FROM meta WHERE key = 'knobs_file'")
    result = invoke(machine, "keep", "rcp-tune.duckdb", "--format", "sysctl", status=2)
    assert result.stderr == (
        "rcp-tune: error: rcp-tune.duckdb: an older rcp-tune made it, which did not store my.toml: "
        "add --knobs my.toml.\n"
    )
    words = ["rcp-tune.duckdb", "--knobs", "my.toml"]
    assert "vm.swappiness = " in invoke(machine, "keep", *words, "--format", "sysctl").stdout
    assert "kept as" in invoke(machine, "verify", *words, status=1).stdout


def test_knobs_of_the_groups_of_a_study_can_be_kept(machine: FakeMachine, tmp_path: Path) -> None:
    Path("killed").touch()
    Path("wl.sh").write_text(WORKLOAD.replace("swappiness)", "dirty_expire_centisecs)"))
    machine.put("/sys/fs/cgroup/backup/io.max", "")
    words = [word.replace("my.toml", "stock") for word in TUNE]
    result = invoke(
        machine, *words, "--slo", "p99=1s", "--background", "cgroup:/backup", "--", "./wl.sh"
    )
    assert "met, " in result.stdout
    with Study.open(Path("rcp-tune.duckdb"), read_only=False) as study:
        winner = study.verdict()["verdict"]
        winner["settings"] = {"background.write_bytes_per_s": 5_000_000}
        study.decide("verdict", winner)
    text = invoke(machine, "keep", "rcp-tune.duckdb").stdout
    assert "wbps=5000000" in text
