"""``verify``: equal only where the machine has what was kept, whatever disks are called."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.tuner.cli import main
from rcp.tuner.knobs.catalog import Catalog, catalog
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.session.kept import INSTALLED
from rcp.tuner.session.session import KnobSession

SETTINGS: Settings = {
    "vm.dirty_bytes": 64 << 20,
    "vm.dirty_expire_centisecs": 1000,
    "disk.scheduler": "mq-deadline",
    "iosched.read_expire": 50,
    "disk.max_sectors_kb": 256,
    "disk.bdi_max_ratio": 60,
}
KINDS = {"sysctl": INSTALLED[0], "udev": INSTALLED[1], "systemd": INSTALLED[2]}


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    machine = fake_machine(tmp_path / "machine", patched=True)
    for disk in ("sda", "sdb"):
        machine.put(f"/sys/block/{disk}/device/wwid", f"naa.{disk}")
    return machine


def invoke(machine: FakeMachine, *words: str) -> Result:
    result = CliRunner().invoke(main, list(words), obj=machine)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def settings_file(folder: Path, values: Settings) -> str:
    path = folder / "best.json"
    path.write_text(json.dumps({"disk": "sda", "settings": dict(values)}))
    return str(path)


def keep_all(machine: FakeMachine, folder: Path, values: Settings) -> None:
    """Install what keep writes, as its heads say."""
    source = settings_file(folder, values)
    for kind, place in KINDS.items():
        result = invoke(machine, "keep", source, "--format", kind)
        if "carries none of these settings" in result.stderr:
            continue
        assert result.exit_code == 0, result.stderr
        machine.path(place).parent.mkdir(parents=True, exist_ok=True)
        machine.path(place).write_text(result.stdout)


@contextmanager
def held(machine: FakeMachine, folder: Path, values: Settings) -> Iterator[Catalog]:
    """While it lasts the machine has *values*."""
    knobs = catalog(machine, "sda")
    with KnobSession(knobs, folder / "journal") as session:
        session.apply(values)
        yield knobs


def found(result: Result) -> dict[str, str]:
    return {one["knob"]: one["state"] for one in json.loads(result.stdout)["knobs"]}


def test_nothing_to_compare_is_an_error(machine: FakeMachine, tmp_path: Path) -> None:
    empty, file = tmp_path / "empty.toml", tmp_path / "60-rcp-tune.conf"
    empty.write_text('disk = "sda"\n[settings]\n')
    keep_all(machine, tmp_path, SETTINGS)
    text = machine.path("/etc/sysctl.d/60-rcp-tune.conf").read_text()
    file.write_text("".join(x for x in text.splitlines(True) if not x.startswith('#: {"knob"')))
    for source, told in ((empty, "there are no settings to compare"), (file, "it names no knob")):
        result = invoke(machine, "verify", str(source))
        assert (result.exit_code, result.stdout) == (2, "")
        assert result.stderr.startswith(f"rcp-tune: error: {source}: {told}")


def test_what_is_installed_is_compared_without_an_argument(
    machine: FakeMachine, tmp_path: Path
) -> None:
    nothing = invoke(machine, "verify")
    assert nothing.exit_code == 2
    assert "nothing that `rcp-tune keep` wrote is installed" in nothing.stderr
    keep_all(machine, tmp_path, SETTINGS)
    before = machine.contents()
    result = invoke(machine, "verify")
    assert result.exit_code == 1
    assert "vm.dirty_bytes: 0, kept as 67108864" in result.stdout.splitlines()
    assert "disk.scheduler: none, kept as mq-deadline" in result.stdout.splitlines()
    assert machine.contents() == before
    with held(machine, tmp_path, SETTINGS):
        result = invoke(machine, "verify")
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout == ("6 of 6 knobs of 60-rcp-tune.conf and 60-rcp-tune.rules as kept\n")
        machine.store("/proc/sys/vm/dirty_bytes", "8388608")
        result = invoke(machine, "verify", "--format", "json")
        assert result.exit_code == 1
        states = found(result)
        assert [name for name, state in states.items() if state != "equal"] == ["vm.dirty_bytes"]
        assert states.keys() == SETTINGS.keys()


def test_a_disk_with_another_name_is_found_by_what_it_is(
    machine: FakeMachine, tmp_path: Path
) -> None:
    keep_all(machine, tmp_path, SETTINGS)
    with held(machine, tmp_path, SETTINGS):
        assert invoke(machine, "verify").exit_code == 0
        # What was sda is sdb now, with the other's number.
        for place in ("/sys/block/sda", "/sys/class/bdi/8:0"):
            other = place.replace("sda", "sdb").replace("8:0", "8:16")
            aside = machine.path("/aside")
            machine.path(place).rename(aside)
            machine.path(other).rename(machine.path(place))
            aside.rename(machine.path(other))
        machine.put("/sys/block/sda/dev", "8:0")
        machine.put("/sys/block/sdb/dev", "8:16")
        result = invoke(machine, "verify")
        assert result.exit_code == 0, result.stdout
        assert "sda is called sdb now" in result.stderr
        assert "keep" not in invoke(machine, "verify", "--disk", "sdb").stderr
        assert invoke(machine, "verify", "--disk", "sda").exit_code == 1
        machine.put("/sys/block/sdb/device/wwid", "naa.other")
        result = invoke(machine, "verify")
        assert result.exit_code == 1
        assert "disk sda (naa.sda) is not here: name another by --disk" in result.stderr
        assert "disk.scheduler: missing, kept as mq-deadline: " in result.stdout
        assert "vm.dirty_bytes" not in result.stdout  # which is no disk's
        assert invoke(machine, "verify", "--ignore-missing").exit_code == 0


def test_settings_without_a_disk_are_compared_as_far_as_they_need_none(
    machine: FakeMachine, tmp_path: Path
) -> None:
    path = tmp_path / "best.toml"
    path.write_text('[settings]\n"vm.dirty_expire_centisecs" = 3000\n"disk.bdi_max_ratio" = 100\n')
    result = invoke(machine, "verify", str(path), "--ignore-missing")
    assert result.exit_code == 0
    assert "disk.bdi_max_ratio: missing, kept as 100: no such knob" in result.stdout
    assert "the settings name no disk: this machine has 2 disks (sda, sdb)" in result.stderr
    assert invoke(machine, "verify", str(path), "--disk", "sdb").stdout == (
        "2 of 2 knobs of best.toml as kept\n"
    )


@pytest.mark.parametrize("as_kept", [True, False])
def test_on_a_kernel_without_the_knobs_they_are_missing(tmp_path: Path, as_kept: bool) -> None:
    patched = fake_machine(tmp_path / "patched", patched=True)
    values: Settings = {"disk.scheduler": "rcp", "rcp.profile": "ld", "iosched.tokens": 4}
    values = {**values, "vm.dirty_expire_centisecs": 3000}
    plain = fake_machine(tmp_path / "plain", patched=False)
    if as_kept:
        keep_all(patched, tmp_path, values)
        for place in KINDS.values():
            plain.path(place).parent.mkdir(parents=True)
            plain.path(place).write_text(patched.path(place).read_text())
        source = []
    else:
        source = [settings_file(tmp_path, values)]
    result = invoke(plain, "verify", *source, "--format", "json")
    assert result.exit_code == 1
    states = found(result)
    assert states["rcp.profile"] == states["iosched.tokens"] == "missing"
    assert states["disk.scheduler"] == "different"
    assert states["vm.dirty_expire_centisecs"] == "equal"


def test_a_profile_beside_single_knobs_of_it_reads_custom_and_is_as_kept(
    machine: FakeMachine, tmp_path: Path
) -> None:
    values: Settings = {"disk.scheduler": "rcp", "rcp.profile": "ld", "iosched.tokens": 4}
    keep_all(machine, tmp_path, values)
    with held(machine, tmp_path, values):
        assert machine.read("/sys/kernel/rcp/profile") == "custom"
        assert invoke(machine, "verify").exit_code == 0


def test_an_edited_file_is_told_and_a_damaged_or_old_one_refused(
    machine: FakeMachine, tmp_path: Path
) -> None:
    keep_all(machine, tmp_path, SETTINGS)
    file = machine.path(INSTALLED[0])
    text = file.read_text()
    file.write_text(text + "vm.swappiness = 1\n")
    assert "was edited after `keep` wrote it" in invoke(machine, "verify", str(file)).stderr
    for broken, fault in (
        (text.replace('"crc"', '"crk"'), "damaged"),
        (text.replace('"kind": "pair"', '"kind": "bear"'), "damaged"),
        ("\n".join(line for line in text.splitlines() if line[:2] != "#:"), "an older rcp-tune"),
    ):
        file.write_text(broken)
        result = invoke(machine, "verify", str(file))
        assert result.exit_code == 2
        assert result.stderr.startswith(f"rcp-tune: error: {file}: ")
        assert fault in result.stderr
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("wanted", [1, 5, 33, 50, 499])
@pytest.mark.parametrize("hz", [100, 250, 300, 1000])
def test_what_the_kernel_rounds_to_jiffies_is_equal(
    machine: FakeMachine, tmp_path: Path, wanted: int, hz: int
) -> None:
    machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
    jiffies = -(-wanted * hz // 1000)
    machine.put("/sys/block/sda/queue/iosched/read_expire", str(jiffies * 1000 // hz))
    source = settings_file(tmp_path, {"iosched.read_expire": wanted})
    assert invoke(machine, "verify", source).exit_code == 0
    machine.put("/sys/block/sda/queue/iosched/read_expire", str(wanted * 3 + 20))
    assert invoke(machine, "verify", source).exit_code == 1


def values_of(knob: Knob) -> st.SearchStrategy[Value]:
    choices = [st.sampled_from(knob.choices)] if knob.choices else []
    numbers = [st.integers(knob.low, knob.high)] if knob.scale != "choice" else []
    return st.one_of(*choices, *numbers)


@given(data=st.data())
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_is_kept_is_equal_once_set_and_different_once_changed(
    data: st.DataObject, in_memory: Path
) -> None:
    root = in_memory / "machine"
    shutil.rmtree(root, ignore_errors=True)
    machine = fake_machine(root, patched=False)
    machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
    knobs = [knob for knob in catalog(machine, "sda").knobs if knob.name in SETTINGS]
    chosen = data.draw(st.lists(st.sampled_from(knobs), min_size=1, unique_by=lambda k: k.name))
    values = {knob.name: data.draw(values_of(knob), knob.name) for knob in chosen}
    if values.get("disk.scheduler", "mq-deadline") != "mq-deadline":
        values.pop("iosched.read_expire", None)
    keep_all(machine, in_memory, values)
    with held(machine, in_memory, values) as whole:
        result = invoke(machine, "verify", "--format", "json")
        assert set(found(result).values()) == {"equal"}, result.stdout
        name = data.draw(st.sampled_from(sorted(values)))
        place = whole.handles[name].cell
        other = {"disk.scheduler": "kyber" if values[name] != "kyber" else "bfq"}.get(name, "7777")
        machine.store(getattr(place, "bytes_place", getattr(place, "place", "")), other)
        result = invoke(machine, "verify", "--format", "json")
        assert result.exit_code == 1
        assert found(result)[name] == "different"
