"""A journal cut short at every byte and flipped at any: what is restored, what is told."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.fixtures.scenarios.knobs.kill import KillAt, in_child, narrowed, tune
from rcp.tuner.errors import JournalError
from rcp.tuner.knobs.catalog import Catalog, catalog
from rcp.tuner.knobs.handle import from_json
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session import journal
from rcp.tuner.session.restore import Restoration, recover
from rcp.tuner.session.session import KnobSession

NAMES = ("disk.scheduler", "vm.dirty_bytes", "iosched.read_expire", "disk.wbt_lat_usec")


TRIALS: list[Settings] = [
    {"disk.scheduler": "bfq", "vm.dirty_bytes": 1 << 25},
    {"disk.scheduler": "kyber", "disk.wbt_lat_usec": 500, "vm.dirty_bytes": 1 << 26},
]


def few(machine: FakeMachine) -> Catalog:
    """A catalog of few knobs, so that its journal is short."""
    return narrowed(catalog(machine, "sda"), NAMES)


class Left:
    """A machine as a killed tuner left it, and its journal; ``again`` lays both out anew."""

    def __init__(self, root: Path) -> None:
        self.machine = fake_machine(root / "machine", patched=False)
        self.machine.store("/sys/block/sda/queue/scheduler", "mq-deadline")
        self.machine.store("/sys/block/sda/queue/iosched/read_expire", "77")
        self.folder = root / "journal"
        self.before = self.machine.contents()
        counter = KillAt()
        tune(few(self.machine), self.folder, TRIALS, counter)
        n = counter.count
        while len(self.differing()) < len(NAMES):
            recover(self.machine, self.folder)
            in_child(partial(tune, few(self.machine), self.folder, TRIALS, KillAt(n)))
            n -= 1
        self.after = self.machine.everything()
        self.data = journal.path_in(self.folder).read_bytes()
        (self.folder / "lock").unlink()

    def again(self, data: bytes) -> None:
        now = self.machine.everything()
        for place in now.keys() - self.after.keys():
            self.machine.path(place).unlink()
        for place, text in self.after.items():
            if now.get(place) != text:
                self.machine.put(place, text)
        for path in self.folder.iterdir():
            path.unlink()
        journal.path_in(self.folder).write_bytes(data)

    def differing(self) -> set[str]:
        """Names of the knobs that do not hold what they did before."""
        found = set()
        for name, place in {
            "disk.scheduler": "/sys/block/sda/queue/scheduler",
            "vm.dirty_bytes": "/proc/sys/vm/dirty_bytes",
            "iosched.read_expire": "/sys/block/sda/queue/iosched/read_expire",
            "disk.wbt_lat_usec": "/sys/block/sda/queue/wbt_lat_usec",
        }.items():
            if not self.machine.exists(place) or self.machine.read(place) != self.before[place]:
                found.add(name)
        return found


@pytest.fixture
def left(in_memory: Path) -> Left:
    return Left(in_memory)


def lines(data: bytes) -> Iterator[dict[str, object]]:
    yield from (json.loads(line[9:]) for line in data.splitlines())


def lost_names(data: bytes) -> set[str]:
    """Knobs of which the journal does not tell what they held."""
    told: set[str] = set()
    for line in data.split(b"\n"):
        try:
            record = json.loads(line[9:])
            assert journal.line_of(record) == line + b"\n"
            told.add(record["handle"]["name"])
        except (ValueError, KeyError, AssertionError, TypeError):
            continue
    return set(NAMES) - told


def test_cut_short_at_any_byte_nothing_is_lost_in_silence(left: Left) -> None:
    whole = len(left.data)
    snapshot = left.data.index(b'"kind":"write"') - 10
    everything_back = 0
    for length in [*range(0, snapshot, 29), *range(snapshot, whole + 1)]:
        left.again(left.data[:length])
        done = recover(left.machine, left.folder)
        differing = left.differing()
        everything_back += not differing
        told = set() if done is None else done.left.keys() | done.failed.keys()
        if length < snapshot:
            assert done is None or done.damaged
            told |= lost_names(left.data[:length])
        if "disk.scheduler" in told:
            told.add("iosched.read_expire")  # gone with it, which goes without saying
        assert differing <= told, length
        assert recover(left.machine, left.folder) is None
    assert everything_back > 100


def test_flipped_at_any_byte_the_rest_is_used(left: Left) -> None:
    for place in range(0, len(left.data), 5):
        data = bytearray(left.data)
        data[place] ^= 0x41
        left.again(bytes(data))
        done = recover(left.machine, left.folder)
        assert done
        last = left.data.rindex(b"\n", 0, -1)
        assert done.damaged or place > last, place
        told = done.left.keys() | done.failed.keys() | lost_names(bytes(data))
        assert left.differing() <= told, place


def test_a_damaged_journal_is_kept_aside_and_told(left: Left) -> None:
    data = left.data.replace(b'"kind":"took"', b'"kind":"t00k"', 1)
    number = data[: data.index(b"t00k")].count(b"\n") + 1
    left.again(data)
    done = recover(left.machine, left.folder)
    assert done
    assert (
        next(done.lines()) == f"the journal is damaged at line {number}: the other lines were used."
    )
    assert (left.folder / "journal.damaged-1").read_bytes().startswith(data)
    assert not journal.path_in(left.folder).exists()


def test_after_a_reboot_nothing_is_written(left: Left) -> None:
    left.again(left.data)
    left.machine.put("/proc/sys/kernel/random/boot_id", "22222222")
    left.machine.store("/sys/block/sda/queue/scheduler", "none")
    left.machine.store("/proc/sys/vm/dirty_ratio", "20")
    held = left.machine.contents()
    done = recover(left.machine, left.folder)
    assert done
    assert left.machine.contents() == held
    assert list(done.lines())[:2] == [
        "the machine was rebooted since: no knob is written.",
        "disk.scheduler: left alone: it is none now and was mq-deadline before.",
    ]
    assert "vm.dirty_bytes" in done.unchanged
    assert recover(left.machine, left.folder) is None


def test_of_another_release_it_is_refused(left: Left) -> None:
    begin, _, rest = left.data.partition(b"\n")
    record = {**json.loads(begin[9:]), "version": 2}
    left.again(journal.line_of(record) + rest)
    with pytest.raises(JournalError) as error:
        recover(left.machine, left.folder)
    assert str(error.value) == (
        f"{left.folder}/journal: written by another release (version 2): restore with that release."
    )


def test_what_is_not_put_back_is_told_with_the_command(left: Left) -> None:
    left.again(left.data)
    left.machine.put("/sys/block/sda/queue/scheduler", "none [kyber] bfq")
    done = recover(left.machine, left.folder)
    assert done
    assert done.failed == {
        "disk.scheduler": "/sys/block/sda/queue/scheduler: refuses mq-deadline: "
        "Invalid argument. By hand: echo mq-deadline > /sys/block/sda/queue/scheduler"
    }
    left.machine.put("/sys/block/sda/queue/scheduler", "none [kyber] bfq mq-deadline")
    again = recover(left.machine, left.folder)
    assert isinstance(again, Restoration)
    assert again.failed == {}
    assert again.restored["disk.scheduler"] == "mq-deadline"


def test_no_folder_can_be_written_is_told(tmp_path: Path) -> None:
    machine = fake_machine(tmp_path / "machine", patched=False)
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(JournalError) as error,
        KnobSession(few(machine), tmp_path / "file" / "journal"),
    ):
        pass
    assert str(error.value) == (
        f"{tmp_path}/file/journal: cannot hold the journal: Not a directory: "
        "try with sudo, or name another folder with --journal."
    )


def test_the_keys_of_a_handle_on_disk_do_not_follow_renames() -> None:
    """A journal that an older rcp-tune left behind must restore: its keys are a file format."""
    handle = {
        "name": "disk.scheduler",
        "cell": {"kind": "chosen", "place": "/sys/block/sda/queue/scheduler"},
        "rank": 1,
        "resets": ["iosched.*"],
        "stirs": ["disk.wbt_lat_usec"],
    }
    assert json.loads(json.dumps(from_json(handle).to_json())) == handle
