"""A session over a machine of files: sets knobs, refuses bad values, restores every knob."""

import os
import resource
import signal
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine
from rcp.fixtures.scenarios.knobs.kill import in_child
from rcp.tuner.errors import (
    AdminChangedError,
    JournalError,
    KnobError,
    KnobGoneError,
    KnobRefusedError,
    LockedError,
)
from rcp.tuner.knobs.catalog import Catalog, catalog
from rcp.tuner.knobs.knob import Settings, Value
from rcp.tuner.session.session import KnobSession

SCHEDULER = "/sys/block/sda/queue/scheduler"
DIRTY_BYTES = "/proc/sys/vm/dirty_bytes"


@pytest.fixture
def knobs(machine: FakeMachine) -> Catalog:
    return catalog(machine, "sda")


def test_what_is_applied_depends_on_the_settings_alone(knobs: Catalog, folder: Path) -> None:
    first: Settings = {"disk.scheduler": "rcp", "rcp.profile": "ld", "iosched.starve_ms": 100}
    second: Settings = {
        "disk.scheduler": "mq-deadline",
        "iosched.fifo_batch": 1,
        "vm.dirty_bytes": 1 << 24,
    }
    third: Settings = {"disk.scheduler": "rcp", "rcp.profile": "rcp", "rcp.dirty.max_pause_ms": 5}
    with KnobSession(knobs, folder) as session:
        held: dict[str, dict[str, Value]] = {}
        settings: Settings
        for settings in (first, second, third, {}, second, first, third, {}):
            session.apply(settings)
            seen = held.setdefault(str(settings), session.current())
            assert session.current() == seen
        assert held["{}"]["disk.scheduler"] == "none"
        assert held[str(first)]["iosched.tokens"] == 8
        assert held[str(third)]["iosched.tokens"] == 1
        assert held[str(second)]["vm.dirty_bytes"] == 1 << 24


def test_all_is_put_back_at_the_end_and_after_an_error(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    before = machine.contents()
    with KnobSession(knobs, folder) as session:
        session.apply({"disk.scheduler": "rcp", "rcp.profile": "rcp"})
    assert machine.contents() == before
    assert session.restoration
    assert session.restoration.restored == {"disk.scheduler": "none", "rcp.profile": "off"}
    with pytest.raises(ZeroDivisionError), KnobSession(knobs, folder) as session:
        session.apply({"vm.dirty_bytes": 1 << 25})
        1 / 0  # noqa: B018
    assert machine.contents() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"vm.dirty": 1}, "vm.dirty: no such knob here: there are disk.scheduler, "),
        (
            {"disk.scheduler": "cfq"},
            "disk.scheduler: cfq is not one of its values: bfq, kyber, mq-deadline, none, rcp.",
        ),
        (
            {"vm.dirty_bytes": 8192},
            "vm.dirty_bytes: 8192 is out of range: 0 or 4194304 to 1638400000 bytes: "
            "choose one of them, or use --yes.",
        ),
        ({"rcp.enable": True}, "rcp.enable: True is not one of its values: 0, 1."),
    ],
)
def test_a_value_out_of_range_is_refused(
    knobs: Catalog, folder: Path, settings: dict[str, int | str], message: str
) -> None:
    with KnobSession(knobs, folder) as session, pytest.raises(KnobError) as error:
        session.apply(settings)
    assert str(error.value).startswith(message)


def test_yes_takes_the_whole_range(machine: FakeMachine, folder: Path) -> None:
    with KnobSession(catalog(machine, "sda", yes=True), folder, yes=True) as session:
        session.apply({"vm.dirty_bytes": 1 << 20})
        assert machine.read(DIRTY_BYTES) == str(1 << 20)


def test_an_administrators_value_is_kept(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    with KnobSession(knobs, folder) as session:
        session.apply({"vm.dirty_bytes": 1 << 25, "disk.scheduler": "bfq"})
        machine.store(DIRTY_BYTES, "123456789")
        with pytest.raises(AdminChangedError) as error:
            session.apply({"vm.dirty_bytes": 1 << 26})
    assert str(error.value) == (
        "vm.dirty_bytes: somebody else set it to 123456789 (rcp-tune had set it to 33554432): "
        "their value stays; tune again when nobody else sets it."
    )
    assert machine.read(DIRTY_BYTES) == "123456789"
    assert "[none]" in machine.read(SCHEDULER)
    assert session.restoration
    assert session.restoration.left == {"vm.dirty_bytes": "somebody else set it to 123456789."}


def test_an_administrators_ratio_is_kept_as_well(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    with KnobSession(knobs, folder) as session:
        session.apply({"vm.dirty_bytes": 1 << 25})
        session.apply({})
        machine.store("/proc/sys/vm/dirty_ratio", "35")  # the bytes read 0 before and after
        with pytest.raises(AdminChangedError):
            session.apply({"vm.dirty_bytes": 1 << 26})
    assert machine.read("/proc/sys/vm/dirty_ratio") == "35"


def test_a_scheduler_the_administrator_chose_stays(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    with KnobSession(knobs, folder) as session:
        session.apply({"disk.scheduler": "bfq", "iosched.slice_idle": 0})
        machine.store(SCHEDULER, "kyber")
    assert "[kyber]" in machine.read(SCHEDULER)
    assert session.restoration
    assert session.restoration.left["disk.scheduler"] == (
        "somebody else set it to kyber; it was none originally."
    )


def test_a_knob_that_vanishes_is_told_and_the_rest_put_back(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    with pytest.raises(KnobGoneError) as error, KnobSession(knobs, folder) as session:
        session.apply({"vm.dirty_bytes": 1 << 25, "disk.bdi_max_ratio": 50})
        machine.path("/sys/class/bdi/8:0/max_ratio").unlink()
        session.apply({"vm.dirty_bytes": 1 << 26, "disk.bdi_max_ratio": 40})
    assert str(error.value) == (
        "disk.bdi_max_ratio: not found: "
        "its disk is gone, or it belongs to a scheduler that is not in use."
    )
    assert machine.read(DIRTY_BYTES) == "0"
    assert session.restoration
    assert session.restoration.left == {
        "disk.bdi_max_ratio": "its disk, its scheduler or its task is gone."
    }


def test_a_knob_of_another_scheduler_is_told(knobs: Catalog, folder: Path) -> None:
    with pytest.raises(KnobGoneError), KnobSession(knobs, folder) as session:
        session.apply({"disk.scheduler": "bfq", "iosched.tokens": 1})


def test_what_the_kernel_refuses_is_told_and_the_rest_put_back(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    before = machine.contents()
    with pytest.raises(KnobRefusedError) as error, KnobSession(knobs, folder) as session:
        session.apply({"disk.scheduler": "none", "vm.dirty_bytes": 1 << 25})
        session.apply({"disk.nr_requests": 512})
    assert str(error.value) == ("/sys/block/sda/queue/nr_requests: refuses 512: Invalid argument.")
    assert machine.contents() == before


def fill_the_disk(machine: FakeMachine, folder: Path) -> None:
    """Let no file of this process grow beyond the journal's size, once a knob is set."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with KnobSession(catalog(machine, "sda"), folder) as session:
        session.apply({"vm.dirty_bytes": 1 << 25})
        size = (folder / "journal").stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, size + 10))
        session.apply({"disk.scheduler": "bfq"})


def test_a_full_disk_stops_the_tuner_but_not_the_restoring(
    machine: FakeMachine, folder: Path
) -> None:
    before = machine.contents()
    errors = folder.parent / "error"

    def tune() -> None:
        try:
            fill_the_disk(machine, folder)
        except JournalError as error:
            errors.write_text(str(error))

    assert in_child(tune) == 0
    assert errors.read_text() == f"{folder}/journal: cannot be written: No space left on device."
    assert machine.contents() == before
    with KnobSession(catalog(machine, "sda"), folder) as session:
        assert session.recovered is not None
        assert session.recovered.restored == {}


def test_two_tuners_do_not_meet(knobs: Catalog, folder: Path) -> None:
    with KnobSession(knobs, folder):
        with pytest.raises(LockedError) as error, KnobSession(knobs, folder):
            pass
        assert str(error.value) == (
            f"{folder}/lock: another rcp-tune (pid {os.getpid()}) is running: "
            "wait until it ends, or stop it."
        )
    with KnobSession(knobs, folder):
        pass


def test_a_dry_run_tells_the_writes_and_makes_none(
    machine: FakeMachine, knobs: Catalog, folder: Path
) -> None:
    before = machine.contents()
    with KnobSession(knobs, folder, dry_run=True) as session:
        session.apply({"disk.scheduler": "rcp", "iosched.tokens": 4, "vm.dirty_bytes": 1 << 25})
        assert session.current()["iosched.tokens"] == 4
        session.apply({})
    assert session.planned == [
        f"echo rcp > {SCHEDULER}",
        "echo 4 > /sys/block/sda/queue/iosched/tokens",
        f"echo 33554432 > {DIRTY_BYTES}",
        f"echo none > {SCHEDULER}",
        "echo 20 > /proc/sys/vm/dirty_ratio",
    ]
    assert machine.contents() == before
    assert not folder.exists()


def test_what_a_scheduler_sets_is_put_back_though_it_is_no_knob_of_the_catalog(
    machine: FakeMachine, folder: Path
) -> None:
    requests = "/sys/block/sda/queue/nr_requests"
    machine.put(requests, "96")
    known = catalog(machine, "sda", "rcp")
    assert "disk.nr_requests" not in known.handles
    with KnobSession(known, folder) as session:
        session.apply({"disk.scheduler": "rcp"})
        assert machine.read(requests) != "96"
    assert machine.read(requests) == "96"
