"""A dry run: the knobs, and what the first trials would set and write."""

from __future__ import annotations

from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import fake_machine
from rcp.tuner.commands.dry_run import dry_run
from rcp.tuner.tests.toy import ToyMachine
from rcp.tuner.tests.trials.test_local import machine_of


def test_only_what_changes_is_told_of_the_first_trials() -> None:
    assert list(dry_run(ToyMachine())) == [
        "2 knobs:",
        "  disk.scheduler = none; tried: none, rcp; order of I/O",
        "  iosched.tokens = not present; tried: 1..64 (with disk.scheduler rcp); background "
        "requests at the device",
        "settings of the first trials, unless a recording of the causes suggests others:",
        "  profile rcp: two background requests at the device, in pieces of 128 KiB "
        "(RCP, FAST '17): disk.scheduler=rcp iosched.tokens=2",
        "  profile ld: eight at the device, in pieces of 32 KiB (FastResponse, ICS '22): "
        "disk.scheduler=rcp iosched.tokens=8",
    ]


def test_without_advice_nothing_is_foretold() -> None:
    *_, last = dry_run(ToyMachine(), advised=False)
    assert last == "the search chooses the settings of the first trials"


def test_this_machine_tells_each_write_and_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rcp.tuner.trials.local.host_facts", lambda tree, disk: {"disk": disk})
    files = fake_machine(tmp_path / "machine", patched=False)
    lines = list(dry_run(machine_of(files, tmp_path, [""])))
    pieces = next(n for n, line in enumerate(lines) if line.startswith("  I/O cut into pieces"))
    assert lines[pieces].endswith(": disk.max_sectors_kb=128")
    assert lines[pieces + 1] == "    echo 128 > /sys/block/sda/queue/max_sectors_kb"
    assert files.read("/sys/block/sda/queue/max_sectors_kb") == "1280"
    assert not (tmp_path / "trials").exists()
    assert not (tmp_path / "journal").exists()
