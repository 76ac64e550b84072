"""Files that keep settings: their text, and that a machine which reads them holds the same."""

import configparser
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.fixtures.scenarios.knobs.contract import witness
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.group_cell import Group, Groups
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session.persist import FORMATS, PersistFile, persist_file
from rcp.tuner.session.session import KnobSession

EXPECTED = Path(__file__).parent / "expected"

SETTINGS: Settings = {
    "vm.dirty_bytes": 64 << 20,
    "vm.dirty_expire_centisecs": 1000,
    "disk.scheduler": "rcp",
    "rcp.profile": "rcp",
    "rcp.dirty.noncrit_permille": 25,
    "iosched.tokens": 4,
    "iosched.token_mode": "total",
    "disk.max_sectors_kb": 256,
    "disk.bdi_max_ratio": 60,
}
PLAIN: Settings = {
    "vm.dirty_background_bytes": 16 << 20,
    "disk.scheduler": "mq-deadline",
    "iosched.prio_aging_expire": 50,
    "disk.nr_requests": 64,
}
GROUPS = Groups(
    foreground=Group(comms=("postgres",)), background=Group(comms=("backup",), cgroup="backup")
)


def fresh(root: Path, *, patched: bool = True) -> FakeMachine:
    machine = fake_machine(root, patched=patched)
    machine.put("/sys/fs/cgroup/backup/io.max", "")
    machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
    machine.store("/sys/block/sda/queue/iosched/front_merges", "0")
    return machine


def persist_file_on(machine: FakeMachine, settings: Settings) -> PersistFile:
    return persist_file(catalog(machine, "sda", groups=GROUPS), settings, "rcp-tune keep best.toml")


@pytest.mark.parametrize("kind", FORMATS)
def test_the_text_is_as_expected(tmp_path: Path, kind: str) -> None:
    tasks: Settings = {"foreground.ioprio": "rt/4", "background.write_bytes_per_s": 50_000_000}
    text = FORMATS[kind](persist_file_on(fresh(tmp_path), {**SETTINGS, **tasks}))
    assert text == (EXPECTED / f"keep.{kind}").read_text()


def body(text: str) -> list[str]:
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def sysctl_writes(text: str) -> Iterator[tuple[str, str]]:
    for line in body(text):
        name, _, value = line.partition(" = ")
        yield f"/proc/sys/{name.replace('.', '/')}", value


def udev_writes(machine: FakeMachine, text: str) -> Iterator[tuple[str, str]]:
    for name, value in re.findall(r'ATTR\{([^}]+)\}="([^"]*)"', text):
        device = machine.read("/sys/block/sda/dev")
        place = name.replace("bdi/", f"/sys/class/bdi/{device}/")
        yield place if place.startswith("/") else f"/sys/block/sda/{name}", value


def shell_writes(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        echo, value, arrow, place = shlex.split(line)
        assert (echo, arrow) == ("echo", ">")
        yield place, value


def unit_writes(text: str, key: str) -> Iterator[tuple[str, str]]:
    for line in body(text):
        if line.startswith(f"{key}="):
            shell, option, command = shlex.split(line.partition("=")[2].replace("%%", "%"))
            assert (shell, option) == ("/bin/sh", "-c")
            yield from shell_writes([command])


def tuned_writes(text: str) -> Iterator[tuple[str, str]]:
    parser = configparser.RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(text)
    for name, value in parser["sysctl"].items():
        yield f"/proc/sys/{name.replace('.', '/')}", value
    yield from parser["sysfs"].items()


@pytest.mark.parametrize("settings", [SETTINGS, PLAIN])
def test_a_machine_started_with_the_files_holds_the_settings(
    tmp_path: Path, settings: Settings
) -> None:
    machine = fresh(tmp_path / "tuned", patched="rcp.profile" in settings)
    before = machine.contents()
    texts = {kind: make(persist_file_on(machine, settings)) for kind, make in FORMATS.items()}
    with KnobSession(catalog(machine, "sda"), tmp_path / "journal") as session:
        session.apply(settings)
        held = {k.removeprefix(str(machine.root)): v for k, v in witness(machine).items()}
    booted = fresh(tmp_path / "booted", patched="rcp.profile" in settings)
    files = (
        list(sysctl_writes(texts["sysctl"])),
        list(udev_writes(booted, texts["udev"])),
        list(unit_writes(texts["systemd"], "ExecStart")),
    )
    for place, value in (pair for writes in files for pair in writes):
        booted.store(place, value)
    found = {k.removeprefix(str(booted.root)): v for k, v in witness(booted).items()}
    assert found == held
    for place, value in shell_writes(body(texts["undo"])):
        booted.store(place, value)
    assert booted.contents() == before
    for place, value in tuned_writes(texts["tuned"]):
        booted.store(place, value)
    found = {k.removeprefix(str(booted.root)): v for k, v in witness(booted).items()}
    assert found == held


def test_a_unit_that_is_stopped_takes_its_part_back(tmp_path: Path) -> None:
    machine = fresh(tmp_path)
    before = machine.contents()
    settings: Settings = {"rcp.profile": "ld", "rcp.classify.rt_is_critical": 0}
    text = FORMATS["systemd"](persist_file_on(machine, settings))
    for place, value in unit_writes(text, "ExecStart"):
        machine.store(place, value)
    assert machine.read("/sys/kernel/rcp/profile") == "custom"
    for place, value in unit_writes(text, "ExecStop"):
        machine.store(place, value)
    before.pop("/sys/kernel/rcp/profile")
    after = machine.contents()
    after.pop("/sys/kernel/rcp/profile")
    assert after == before


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    text = FORMATS["systemd"](persist_file_on(fresh(tmp_path / "machine"), SETTINGS))
    unit = tmp_path / "rcp-tune.service"
    unit.write_text(text)
    program = shutil.which("systemd-analyze")
    if program is None:  # not among what a machine needs for working on rcp
        assert "[Service]" in text
        return
    done = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "rcp-tune" not in done.stderr


def test_the_undo_script_is_a_shell_script(tmp_path: Path) -> None:
    text = FORMATS["undo"](persist_file_on(fresh(tmp_path), SETTINGS))
    checked = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, "")
