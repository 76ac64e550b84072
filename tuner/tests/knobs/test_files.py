"""Knobs of a user's own: what a file may say, and what is told of one that says it wrong."""

from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.errors import KnobError
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.session.session import KnobSession

GOOD = """
[knobs."vm.swappiness"]
path = "/proc/sys/vm/swappiness"
what = "how willingly anonymous memory is swapped out"
unit = "%"
scale = "linear"
low = 0
high = 100
default = 60
helps = ["dirty_throttle"]

[knobs."disk.scheduler"]
path = "/sys/block/{disk}/queue/scheduler"
choices = ["none", "bfq"]
default = "none"
"""


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return fake_machine(tmp_path / "machine", patched=False)


def test_a_users_knobs_are_set_and_put_back(machine: FakeMachine, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(GOOD)
    before = machine.contents()
    knobs = catalog(machine, "sda", path)
    assert {knob.name: knob.backend for knob in knobs.knobs} == {
        "vm.swappiness": "file",
        "disk.scheduler": "file",
    }
    with KnobSession(knobs, tmp_path / "journal") as session:
        session.apply({"vm.swappiness": 1, "disk.scheduler": "bfq"})
        assert session.current() == {"vm.swappiness": 1, "disk.scheduler": "bfq"}
    assert machine.contents() == before


def test_a_file_that_resets_others_is_known(tmp_path: Path) -> None:
    """The scheduler sets nr_requests, and a switch of rcp its profile, knobs or not."""
    machine = fake_machine(tmp_path / "patched", patched=True)
    machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
    machine.store("/sys/block/sda/queue/nr_requests", "96")
    machine.store("/sys/block/sda/queue/iosched/read_expire", "77")
    path = tmp_path / "my.toml"
    path.write_text(
        '[knobs."disk.scheduler"]\npath = "/sys/block/{disk}/queue/scheduler"\n'
        'choices = ["none", "rcp"]\ndefault = "none"\n'
        '[knobs."rcp.enable"]\npath = "/sys/kernel/rcp/enable"\nchoices = [0, 1]\ndefault = 0\n'
    )
    before = machine.contents()
    with KnobSession(catalog(machine, "sda", path), tmp_path / "journal") as session:
        session.apply({"disk.scheduler": "rcp", "rcp.enable": 1})
        assert machine.read("/sys/kernel/rcp/profile") == "custom"
        session.apply({"rcp.enable": 1})
    assert machine.contents() == before


def changed(old: str, new: str) -> str:
    assert old in GOOD
    return GOOD.replace(old, new, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'knobs: missing: write a table [knobs."NAME"] for each knob.'),
        ("knobs = 1", 'knobs: missing: write a table [knobs."NAME"] for each knob.'),
        ("[knobs]\nx = 1", "knobs.x: it is not a table: write [knobs.x]."),
        (
            changed("low = 0", "lov = 0"),
            "knobs.vm.swappiness.lov: unknown key: the keys are path, ",
        ),
        (changed("low = 0", 'low = "0"'), "knobs.vm.swappiness.low: '0' is not a whole number."),
        (changed("low = 0", "low = true"), "knobs.vm.swappiness.low: True is not a whole number."),
        (changed("default = 60", ""), "knobs.vm.swappiness.default: missing: every knob needs it."),
        (
            changed("default = 60", "default = 101"),
            "knobs.vm.swappiness.default: 101 is not one of the allowed values.",
        ),
        (
            changed("high = 100", "high = 0"),
            "knobs.vm.swappiness.high: 0 must be more than low, which is 0.",
        ),
        (
            changed('"linear"', '"log"'),
            "knobs.vm.swappiness.low: 0 has no logarithm: write at least 1.",
        ),
        (
            changed('"linear"', '"cubic"'),
            "knobs.vm.swappiness.scale: 'cubic' is not one of linear, log, choice.",
        ),
        (
            changed('choices = ["none", "bfq"]', ""),
            "knobs.disk.scheduler.choices: missing: give low and high, or the values to try.",
        ),
        (
            changed("/proc/sys/vm/swappiness", "/etc/passwd"),
            "knobs.vm.swappiness.path: /etc/passwd is not below /sys or /proc/sys.",
        ),
        (
            changed("/proc/sys/vm/swappiness", "/proc/sys/../../etc/passwd"),
            "knobs.vm.swappiness.path: /proc/sys/../../etc/passwd is not below /sys or /proc/sys.",
        ),
        (
            changed("/proc/sys/vm/swappiness", "/proc/sys/vm/swap"),
            "knobs.vm.swappiness.path: there is no /proc/sys/vm/swap on this machine.",
        ),
        (
            changed("disk.scheduler", "mine"),
            "knobs.mine.path: /sys/block/sda/queue/scheduler belongs to disk.scheduler: "
            "give it that name.",
        ),
        (
            changed("/proc/sys/vm/swappiness", "/proc/sys/vm/dirty_ratio"),
            "knobs.vm.swappiness.path: /proc/sys/vm/dirty_ratio belongs to vm.dirty_bytes: "
            "give it that name.",
        ),
        (
            changed("helps =", "needs = {x = 1}\nhelps ="),
            "knobs.vm.swappiness.needs.x: 1 is not a list of values.",
        ),
    ],
)
def test_what_is_wrong_is_told_with_file_and_key(
    machine: FakeMachine, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "my.toml"
    path.write_text(text)
    with pytest.raises(KnobError) as error:
        catalog(machine, "sda", path)
    assert str(error.value).startswith(f"{path}: {message}")
    assert "\n" not in str(error.value)


def test_a_disk_may_be_named_by_its_device(machine: FakeMachine) -> None:
    assert catalog(machine, "/dev/sda") == catalog(machine, "sda")


def test_what_is_no_toml_is_told(machine: FakeMachine, tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text("[knobs")
    with pytest.raises(KnobError, match=r"my.toml: it is not TOML: ") as error:
        catalog(machine, "sda", path)
    assert "\n" not in str(error.value)
    with pytest.raises(KnobError) as error:
        catalog(machine, "sda", tmp_path / "none.toml")
    assert str(error.value) == f"{tmp_path}/none.toml: cannot be read: No such file or directory."


@pytest.mark.parametrize(
    ("disk", "which", "message"),
    [
        ("sdz", "auto", "sdz: no such disk: there are sda, sdb: use --disk."),
        (
            "sda",
            "rcp",
            "this kernel has no rcp patch: boot the patched kernel or use --knobs stock.",
        ),
        ("sda1", "auto", "sda1: it is a partition: name its disk."),
    ],
)
def test_what_is_not_there_is_told(
    machine: FakeMachine, disk: str, which: str, message: str
) -> None:
    machine.put("/sys/class/block/sda1/partition", "1")
    with pytest.raises(KnobError) as error:
        catalog(machine, disk, which)  # type: ignore[arg-type]
    assert str(error.value) == message
