"""``restore`` and ``keep``: what they print, what they refuse."""

import json
import signal
from functools import partial
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from rcp.fixtures.fake_machine import FakeMachine, fake_machine
from rcp.fixtures.scenarios.knobs.kill import KillAt, in_child, tune
from rcp.tuner.cli import main
from rcp.tuner.commands.keep import keep
from rcp.tuner.commands.restore import restore
from rcp.tuner.knobs.catalog import catalog
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.session.session import KnobSession


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    return fake_machine(tmp_path / "machine", patched=False)


def restored(machine: FakeMachine, folder: Path, *options: str) -> Result:
    return CliRunner().invoke(main, ["restore", "--journal", str(folder), *options], obj=machine)


def kill_one(machine: FakeMachine, folder: Path) -> None:
    """Leave what a tuner left that was killed once it had set two knobs."""
    trial: Settings = {"disk.scheduler": "bfq", "vm.dirty_bytes": 1 << 25}
    counter = KillAt()
    tune(catalog(machine, "sda"), folder, [trial], counter)
    for step in range(counter.count, 0, -1):
        in_child(partial(tune, catalog(machine, "sda"), folder, [trial], KillAt(step)))
        none = "[none]" in machine.read("/sys/block/sda/queue/scheduler")
        if not none and machine.read("/proc/sys/vm/dirty_bytes") != "0":
            return
        assert restored(machine, folder).exit_code == 0
    raise AssertionError("no step leaves both knobs set")


@pytest.mark.parametrize("options", [(), ("--dry-run",), ("--forget",)])
def test_without_a_journal_there_is_nothing_to_do(
    machine: FakeMachine, folder: Path, options: tuple[str, ...]
) -> None:
    result = restored(machine, folder, *options)
    assert (result.exit_code, result.output) == (0, f"{folder}/journal: nothing to restore.\n")
    with KnobSession(catalog(machine, "sda"), folder) as session:
        session.apply({"disk.scheduler": "bfq"})
    result = restored(machine, folder, *options)
    assert (result.exit_code, result.output) == (0, f"{folder}/journal: nothing to restore.\n")


def test_what_a_killed_tuner_left_is_put_back(machine: FakeMachine, folder: Path) -> None:
    before = machine.contents()
    kill_one(machine, folder)
    changed = machine.contents()
    result = restored(machine, folder, "--dry-run")
    assert result.exit_code == 0
    # The numbers are what the scheduler's change will bring back, which a dry run cannot see.
    assert [line for line in result.output.splitlines() if line.startswith("echo ")] == [
        "echo none > /sys/block/sda/queue/scheduler",
        "echo 128 > /sys/block/sda/queue/nr_requests",
        "echo 0 > /sys/block/sda/queue/wbt_lat_usec",
        "echo 2000 > /sys/block/sda/queue/wbt_lat_usec",
        "echo 20 > /proc/sys/vm/dirty_ratio",
    ]
    assert machine.contents() == changed
    result = restored(machine, folder)
    assert result.exit_code == 0
    assert result.output == (
        "disk.scheduler: restored to none.\n"
        "vm.dirty_bytes: restored to 0.\n"
        "2 already had their original value.\n"
    )
    assert machine.contents() == before


def test_programs_can_read_it(machine: FakeMachine, folder: Path) -> None:
    kill_one(machine, folder)
    told = json.loads(restored(machine, folder, "--format", "json").output)
    assert told["restored"] == {"disk.scheduler": "none", "vm.dirty_bytes": "0"}
    assert told["failed"] == {}
    told = json.loads(restored(machine, folder, "--format", "json").output)
    assert told["restored"] == {}


def test_what_cannot_be_put_back_is_an_error(machine: FakeMachine, folder: Path) -> None:
    kill_one(machine, folder)
    machine.put("/sys/block/sda/queue/scheduler", "[bfq] kyber")
    result = restored(machine, folder)
    assert result.exit_code == 2
    assert result.stderr == (
        "rcp-tune: error: disk.scheduler: /sys/block/sda/queue/scheduler: refuses none: "
        "Invalid argument. By hand: echo none > /sys/block/sda/queue/scheduler. "
        "Then run `rcp-tune restore`.\n"
    )
    result = restored(machine, folder, "--forget")
    assert result.output == (
        f"nothing was restored; the journal is now {folder}/journal.forgotten-1.\n"
    )
    assert restored(machine, folder).output == f"{folder}/journal: nothing to restore.\n"


def test_a_journal_that_names_no_knob_is_no_success(machine: FakeMachine, folder: Path) -> None:
    folder.mkdir()
    (folder / "journal").write_text("garbage\n")
    result = restored(machine, folder)
    assert result.exit_code == 1
    assert result.output == (
        "the journal is damaged at line 1: the other lines were used.\n"
        "no line names a knob: compare the knobs with your own notes.\n"
        f"the damaged journal is now {folder}/journal.damaged-1.\n"
    )
    assert restored(machine, folder).output == f"{folder}/journal: nothing to restore.\n"


def test_beside_a_tuner_at_work_it_is_refused(machine: FakeMachine, folder: Path) -> None:
    with KnobSession(catalog(machine, "sda"), folder):
        result = restored(machine, folder)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"rcp-tune: error: {folder}/lock: another rcp-tune (pid ")


SETTINGS = """
disk = "sda"
[settings]
"vm.dirty_bytes" = 33554432
"disk.scheduler" = "mq-deadline"
"iosched.read_expire" = 50
"""


def test_settings_are_written_to_a_file(machine: FakeMachine, tmp_path: Path) -> None:
    path, output = tmp_path / "best.toml", tmp_path / "60-rcp-tune.rules"
    path.write_text(SETTINGS)
    words = [str(path), "--format", "udev"]
    shown = CliRunner().invoke(main, ["keep", *words], obj=machine)
    assert shown.exit_code == 0
    assert 'ATTR{queue/scheduler}="mq-deadline"' in shown.output
    result = CliRunner().invoke(main, ["keep", *words, "-o", str(output)], obj=machine)
    assert result.stderr == f"{output} written; its head says how to install it.\n"
    assert output.read_text() == shown.output
    result = CliRunner().invoke(main, ["keep", *words, "-o", str(output)], obj=machine)
    assert result.exit_code == 2
    assert result.stderr == (
        f"rcp-tune: error: {output} exists: name another output, or use --force.\n"
    )
    assert (
        CliRunner().invoke(main, ["keep", *words, "-fo", str(output)], obj=machine).exit_code == 0
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[settings", "it is not TOML: "),
        ("x = 1", "settings: missing: write a table [settings] of KNOB = VALUE."),
        ("[settings]\nx = 1", "disk: missing: add it, or use --disk."),
        ("disk = 1\n[settings]\nx = 1", "disk: 1 is not a text."),
        ("[settings]\nx = 1.5", "settings.x: 1.5 is neither a number nor a text."),
    ],
)
def test_a_file_of_settings_that_is_wrong_is_told(
    machine: FakeMachine, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "best.toml"
    path.write_text(text)
    result = CliRunner().invoke(main, ["keep", str(path)], obj=machine)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"rcp-tune: error: {path}: {message}")
    assert result.stderr.count("\n") == 1


def test_settings_that_the_machine_does_not_take_are_told(
    machine: FakeMachine, tmp_path: Path
) -> None:
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"disk": "sda", "settings": {"rcp.profile": "rcp"}}))
    result = CliRunner().invoke(main, ["keep", str(path)], obj=machine)
    assert result.exit_code == 2
    assert result.stderr.startswith("rcp-tune: error: rcp.profile: no such knob here: there are ")


@pytest.mark.parametrize(
    ("settings", "kind", "told"),
    [
        ({"vm.dirty_bytes": 33554432}, "systemd", "use --format sysctl."),
        ({"disk.scheduler": "mq-deadline"}, "sysctl", "use --format udev."),
        (
            {"vm.dirty_bytes": 33554432, "disk.scheduler": "mq-deadline"},
            "systemd",
            "use --format sysctl and --format udev.",
        ),
    ],
)
def test_no_file_is_written_that_sets_nothing(
    machine: FakeMachine, tmp_path: Path, settings: dict[str, object], kind: str, told: str
) -> None:
    path, output = tmp_path / "best.json", tmp_path / "kept"
    path.write_text(json.dumps({"disk": "sda", "settings": settings}))
    words = ["keep", str(path), "--format", kind, "-o", str(output)]
    result = CliRunner().invoke(main, words, obj=machine)
    assert result.exit_code == 2
    said = f"rcp-tune: error: --format {kind} carries none of these settings: {told}\n"
    assert result.stderr == said
    assert not output.exists()
    written = ""
    for better in told.removeprefix("use --format ").rstrip(".").split(" and --format "):
        words[3] = better
        assert CliRunner().invoke(main, [*words, "-f"], obj=machine).exit_code == 0
        written += output.read_text().partition("\n\n")[2]  # without its head
    assert all(str(value) in written for value in settings.values())


@pytest.mark.parametrize(
    ("settings", "kind", "told"),
    [
        ({"vm.dirty_bytes": 33554432}, "sysctl", ""),
        ({"disk.scheduler": "mq-deadline", "iosched.read_expire": 50}, "udev", ""),
        (
            {
                "disk.scheduler": "mq-deadline",
                "iosched.read_expire": 50,
                "vm.dirty_bytes": 33554432,
            },
            "udev",
            "rcp-tune: --format udev carries only a part: write --format sysctl too.\n",
        ),
    ],
)
def test_without_a_format_the_file_that_carries_most_is_written(
    machine: FakeMachine, tmp_path: Path, settings: dict[str, object], kind: str, told: str
) -> None:
    path = tmp_path / "best.json"
    path.write_text(json.dumps({"disk": "sda", "settings": settings}))
    found = CliRunner().invoke(main, ["keep", str(path)], obj=machine)
    assert (found.exit_code, found.stderr) == (0, told)
    asked = CliRunner().invoke(main, ["keep", str(path), "--format", kind], obj=machine)
    assert found.stdout == asked.stdout


@pytest.mark.parametrize("command", [restore, keep])
def test_help_has_examples(command: object) -> None:
    result = CliRunner().invoke(command, ["--help"])  # type: ignore[arg-type]
    assert result.exit_code == 0
    assert "Examples:" in result.output
    assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
