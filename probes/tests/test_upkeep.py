import json
import os
import time
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rcp.probes import devices
from rcp.probes.contract.events import SCHEMA_VERSION
from rcp.probes.contract.spool import SpoolWriter
from rcp.probes.cost.cost import CostMeter, read_run_stats
from rcp.probes.kernel import module_types
from rcp.probes.upkeep import Upkeep

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource

META: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "devices": {"1": "sda"}}
S = 1_000_000_000
MODULES = ["dm_crypt", "loop"]


@pytest.fixture(autouse=True)
def always_the_same_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disks of this machine may come while a test runs."""
    monkeypatch.setattr(devices, "devices", lambda *_: dict(META["devices"]))


def burn(seconds: float) -> None:
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


def look_and_step(keeper: Upkeep) -> float:
    keeper.look()
    return keeper.step()


def test_the_recorders_own_cpu_is_measured_from_the_start_of_recording() -> None:
    created_cpu_s, created_s = time.process_time(), time.monotonic()
    meter = CostMeter([])
    before_cpu_s, before_s = time.process_time(), time.monotonic()
    burn(0.05)
    burnt_s = time.monotonic() - before_s
    cost = meter.cost(n_events=30, spool_bytes=7)
    assert 0.05 <= cost.recorder_cpu_s <= time.process_time() - created_cpu_s
    assert created_cpu_s <= cost.startup_cpu_s <= before_cpu_s
    assert burnt_s <= cost.duration_s <= time.monotonic() - created_s
    assert (cost.n_events, cost.spool_bytes) == (30, 7)
    assert cost.peak_rss_bytes > 1 << 20
    assert cost.as_dict()["events_per_s"] == round(30 / cost.duration_s, 1)


def test_a_kernel_that_does_not_measure_probes_gives_no_figure() -> None:
    cost = CostMeter([], enable=lambda: None).cost(1, 1)
    assert (cost.probe_cpu_s, cost.probe_runs, cost.probe_ns_per_run) == (None, None, None)


def test_measuring_is_switched_off_by_closing_and_on_for_one_tick_in_four() -> None:
    opened: list[int] = []

    def enable() -> int:
        opened.append(os.open("/dev/null", os.O_RDONLY))
        return opened[-1]

    def is_open(fd: int) -> bool:
        return Path(f"/proc/self/fd/{fd}").exists()

    meter = CostMeter([], enable=enable)
    assert is_open(opened[0])
    on = []
    for _ in range(16):
        meter.tick()
        on.append(any(map(is_open, opened)))
    assert on == ([False] * 3 + [True]) * 4
    meter.close()
    assert not any(map(is_open, opened))


def test_a_descriptor_that_is_no_program_has_no_run_time() -> None:
    with Path("/dev/null").open() as file:
        assert read_run_stats([file.fileno()]) == (0, 0)


@pytest.fixture
def spool(tmp_path: Path) -> SpoolWriter:
    return SpoolWriter(tmp_path / "a.spool", META)


def test_without_a_bound_nothing_is_left_out(source: "ArraySource", spool: SpoolWriter) -> None:
    meta = dict(META)
    keeper = Upkeep(source, spool, meta, None, lambda text: None)
    assert look_and_step(keeper) == 1.0
    assert keeper.close(5)["n_events"] == 5
    assert (source.shed_settings, meta) == ([], META)


def test_beyond_the_bound_the_source_leaves_things_out_and_the_spool_says_so(
    source: "ArraySource", spool: SpoolWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    began_ns = now_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns)
    said: list[str] = []
    keeper = Upkeep(source, spool, dict(META), 1e-6, said.append)
    said.clear()  # a container may not be allowed to measure probes
    for _ in range(9):
        burn(0.01)
        now_ns += S
        look_and_step(keeper)
    keeper.close(5)
    stored = json.loads((spool.path / "meta.json").read_text())["shedding"]
    levels = [event["level"] for event in stored["events"]]
    assert levels == [1, 2, 3, 4]
    assert len(said) == 4
    # The first second is the recorder's own start.
    assert [event["ts"] - began_ns for event in stored["events"]][:2] == [2 * S, 3 * S]
    waits = [setting.wait_ns for setting in source.shed_settings]
    assert waits[:2] == [50_000, 1_000_000]
    assert not source.shed_settings[-1].stacks


def test_what_recording_less_would_not_save_does_not_count(
    source: "ArraySource", spool: SpoolWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_ns = time.monotonic_ns()
    monkeypatch.setattr(time, "monotonic_ns", lambda: now_ns)
    monkeypatch.setattr(time, "monotonic", lambda: now_ns / 1e9)
    keeper = Upkeep(source, spool, dict(META), 0.05, lambda text: None)
    for _ in range(5):
        with keeper.excused():
            burn(0.3)
        now_ns += S
        look_and_step(keeper)
    assert keeper.level == 0
    assert keeper.cost_so_far(1).recorder_cpu_s >= 1.5  # told as a cost all the same
    burn(0.3)
    now_ns += S
    look_and_step(keeper)
    assert keeper.level == 1
    keeper.close(5)


def test_a_module_that_is_loaded_while_recording_is_said_and_stored(
    source: "ArraySource",
    spool: SpoolWriter,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    modules = tmp_path / "module"
    modules.mkdir()
    monkeypatch.setattr(module_types, "STATE_DIR", modules)
    said: list[str] = []
    keeper = Upkeep(source, spool, {**META, "absent_modules": MODULES}, None, said.append)
    monkeypatch.setattr(time, "monotonic_ns", count(time.monotonic_ns() + 2 * S, 2 * S).__next__)
    look_and_step(keeper)
    assert said == []
    for name in MODULES:
        (modules / name).mkdir()
        look_and_step(keeper)
        look_and_step(keeper)
    assert [text.split()[2] for text in said] == MODULES
    assert json.loads((spool.path / "meta.json").read_text())["late_modules"] == MODULES


def test_probes_of_a_module_that_is_live_are_attached(
    source: "ArraySource", spool: SpoolWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_types, "STATE_DIR", tmp_path)
    source.hooked_modules = {"loop"}
    meta, said = {**META, "absent_modules": MODULES}, list[str]()
    keeper = Upkeep(source, spool, meta, None, said.append)
    for name in MODULES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "initstate").write_text("coming\n")
    look_and_step(keeper)
    assert said == []
    for name in MODULES:
        (tmp_path / name / "initstate").write_text("live\n")
    look_and_step(keeper)
    stored = json.loads((spool.path / "meta.json").read_text())
    assert stored["late_modules"] == ["dm_crypt"]
    assert list(stored["attached_modules"]) == ["loop"]
    assert ["its probes run since" in text for text in said] == [False, True]


def test_a_module_that_is_loaded_at_the_end_counts(
    source: "ArraySource", spool: SpoolWriter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module_types, "STATE_DIR", tmp_path)
    meta = {**META, "absent_modules": MODULES}
    keeper = Upkeep(source, spool, meta, None, lambda text: None)
    (tmp_path / "loop").mkdir()
    keeper.close(5)
    assert meta["late_modules"] == ["loop"]


def test_devices_that_come_while_recording_have_names(
    source: "ArraySource", spool: SpoolWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that is gone keeps its name; a number that another one has keeps the first name."""
    there = {"1": "sda"}
    monkeypatch.setattr(devices, "devices", lambda *_: dict(there))
    monkeypatch.setattr(devices, "device_labels", lambda **_: {n: f"{n}.img" for n in there})
    meta: dict[str, Any] = {**META, "device_labels": {}}
    keeper = Upkeep(source, spool, meta, None, lambda text: None)
    monkeypatch.setattr(time, "monotonic_ns", count(time.monotonic_ns() + 2 * S, 2 * S).__next__)
    look_and_step(keeper)
    assert meta["device_labels"] == {}
    there["7"] = "loop0"
    look_and_step(keeper)
    there.clear()
    there["1"] = "sdb"
    look_and_step(keeper)
    there["8"] = "dm-0"
    keeper.close(5)
    stored = json.loads((spool.path / "meta.json").read_text())
    assert stored["devices"] == meta["devices"] == {"1": "sda", "7": "loop0", "8": "dm-0"}
    assert meta["device_labels"] == {"1": "1.img", "7": "7.img", "8": "8.img"}


def test_names_need_not_be_utf_8(tmp_path: Path) -> None:
    folder = tmp_path / "loop3"
    (folder / "loop").mkdir(parents=True)
    (folder / "loop/backing_file").write_bytes(b"/tmp/im\xe9.img\n")
    (folder / "dev").write_text("7:3\n")
    assert devices.device_labels(tmp_path) == {str(7 << 20 | 3): "im\ufffd.img"}
