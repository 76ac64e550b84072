from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from rcp.probes.commands import record, recording, selection
from rcp.probes.cost.cost import Cost
from rcp.probes.kernel.features import Features
from rcp.probes.plan import Plan
from rcp.probes.record import Ended


@pytest.fixture
def recorder(
    monkeypatch: pytest.MonkeyPatch, features: Features, tmp_path: Path
) -> SimpleNamespace:
    """A machine that could record, whose recording ends at once as ``ended`` says."""
    state = SimpleNamespace(
        features=replace(features, tracefs=tmp_path),
        ended=Ended("duration", "1 s", status=0, n_records=23, n_lost=0),
        plan=None,
        loaded=[],
    )
    for name in ("fsync", "fdatasync", "msync", "sync_file_range", "syncfs", "sync"):
        (tmp_path / f"events/syscalls/sys_enter_{name}").mkdir(parents=True)

    def make(plan: Plan, _say: object) -> Ended:
        state.plan = plan
        ended: Ended = state.ended
        if plan.flight is None or ended.why == "disk":
            plan.spool.mkdir()
        for dump in ended.dumps:
            dump.mkdir()
        return ended

    monkeypatch.setattr(selection, "read_features", lambda: state.features)
    monkeypatch.setattr(selection, "require_bcc", lambda: None)
    monkeypatch.setattr(recording, "record", make)
    return state


def run(recorder: SimpleNamespace, *arguments: str) -> Result:
    def load(spool: Path, output: Path) -> None:
        recorder.loaded.append((spool, output))
        output.touch()

    return CliRunner().invoke(record.record_command(load), arguments)


def test_a_finished_recording_is_loaded_and_its_spool_removed(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    output = tmp_path / "slow.duckdb"
    result = run(recorder, "-d", "1", "-o", str(output))
    assert result.exit_code == 0
    assert recorder.loaded == [(tmp_path / "slow.duckdb.spool", output)]
    assert not (tmp_path / "slow.duckdb.spool").exists()
    assert result.stderr == (
        "rcp-trace: ended (duration: 1 s); 23 events, none lost.\n"
        f"rcp-trace: loading into {output}…\n"
        f"rcp-trace: see it with `rcp-trace report {output}`.\n"
    )


def test_an_output_that_ends_in_spool_stays_one(recorder: SimpleNamespace, tmp_path: Path) -> None:
    result = run(recorder, "-o", str(tmp_path / "a.spool"))
    assert (result.exit_code, recorder.loaded) == (0, [])
    assert (tmp_path / "a.spool").is_dir()


def test_the_commands_exit_status_is_passed_on(recorder: SimpleNamespace, tmp_path: Path) -> None:
    recorder.ended = replace(recorder.ended, why="command", status=7)
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"), "--", "sh", "-c", "exit 7")
    assert result.exit_code == 7
    assert recorder.plan.command == ("sh", "-c", "exit 7")
    assert (tmp_path / "a.duckdb").exists()


def test_cmdline_chooses_how_much_of_command_lines_is_stored(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    assert run(recorder, "-o", str(tmp_path / "a.spool")).exit_code == 0
    assert recorder.plan.cmdline == "full"
    assert run(recorder, "--cmdline", "name", "-o", str(tmp_path / "b.spool")).exit_code == 0
    assert recorder.plan.cmdline == "name"


def test_a_full_disk_keeps_the_spool_and_says_how_to_go_on(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    fault = "cannot write the spool: No space left on device"
    recorder.ended = replace(recorder.ended, why="disk", detail=fault)
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"))
    spool = tmp_path / "a.duckdb.spool"
    assert (result.exit_code, spool.exists()) == (1, True)
    assert result.stderr.splitlines()[-1] == (
        f"rcp-trace: error: {fault}; what was recorded is in {spool}: free some space, then run "
        f"`rcp-trace recover {spool}`."
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "4194305"], "no process 4194305: `pgrep -a NAME` finds one."),
        (["--background", "pid:x"], "bad background rule 'pid:x': a pid is a number."),
        (
            ["--comm", "a" * 70],
            "the --comm patterns together are too long (71 of 64 characters): give fewer; thread "
            "names have at most 15 characters.",
        ),
    ],
)
def test_bad_input_ends_in_one_line_and_status_2(
    recorder: SimpleNamespace, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"), *arguments)
    assert (result.exit_code, result.stderr) == (2, f"rcp-trace: error: {message}\n")
    assert recorder.plan is None


def test_an_unknown_syscall_lists_the_known(recorder: SimpleNamespace, tmp_path: Path) -> None:
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"), "--request", "fsink")
    assert result.exit_code == 2
    assert result.stderr.startswith(
        "rcp-trace: error: cannot record the syscall 'fsink': choose from clock_nanosleep, close, "
    )


@pytest.mark.parametrize("command", ["/no/such/command", "no-such-command", "/etc/passwd"])
def test_a_command_that_cannot_run_is_told_before_the_machine_is_asked(
    recorder: SimpleNamespace, tmp_path: Path, command: str
) -> None:
    recorder.features = replace(recorder.features, may_load_bpf=False)
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"), "--", command, "-x")
    assert (result.exit_code, recorder.plan) == (127, None)
    assert result.stderr == (
        f"rcp-trace: error: {command}: no such command: give the path of an executable file, or "
        "the name of one in $PATH.\n"
    )


def test_without_root_nothing_is_started(recorder: SimpleNamespace, tmp_path: Path) -> None:
    recorder.features = replace(recorder.features, may_load_bpf=False)
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"))
    assert (result.exit_code, recorder.plan) == (2, None)
    assert result.stderr == (
        "rcp-trace: error: recording needs root, or CAP_BPF and CAP_PERFMON: run it with sudo.\n"
    )


def test_an_existing_file_is_kept_unless_forced(recorder: SimpleNamespace, tmp_path: Path) -> None:
    output = tmp_path / "a.duckdb"
    output.write_text("precious")
    result = run(recorder, "-o", str(output))
    assert (result.exit_code, output.read_text()) == (2, "precious")
    assert result.stderr == (
        f"rcp-trace: error: {output} already exists: name another file, or use --force to "
        "replace it.\n"
    )
    assert run(recorder, "--force", "-o", str(output)).exit_code == 0


def test_a_missing_folder_is_named(recorder: SimpleNamespace, tmp_path: Path) -> None:
    result = run(recorder, "-o", str(tmp_path / "no" / "a.duckdb"))
    assert (result.exit_code, result.stderr) == (
        2,
        f"rcp-trace: error: {tmp_path / 'no'} is not a folder: make it first.\n",
    )


def test_each_dump_is_loaded_into_a_numbered_file(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    dumps = tuple(tmp_path / f"slow-{number}.duckdb.spool" for number in (1, 2))
    recorder.ended = replace(recorder.ended, why="signal", detail="SIGINT", dumps=dumps)
    result = run(
        recorder, *("--keep", "30s", "--when", "fsync>20ms"), "-o", str(tmp_path / "slow.duckdb")
    )
    assert result.exit_code == 0
    assert [plan_path(recorder, n) for n in (1, 2)] == list(dumps)
    assert recorder.loaded == [(d, d.with_suffix("")) for d in dumps]
    assert sorted(path.name for path in tmp_path.glob("slow*")) == [
        "slow-1.duckdb",
        "slow-2.duckdb",
    ]
    assert result.stderr.splitlines()[-1] == (
        f"rcp-trace: see the first with `rcp-trace report {tmp_path / 'slow-1.duckdb'}`."
    )


def plan_path(recorder: SimpleNamespace, number: int) -> Path:
    path: Path = recorder.plan.flight.dump_path(number)
    return path


def test_dumps_of_a_spool_output_stay_spools(recorder: SimpleNamespace, tmp_path: Path) -> None:
    dump = tmp_path / "slow-1.spool"
    recorder.ended = replace(recorder.ended, dumps=(dump,))
    result = run(recorder, "--keep", "2s", "-o", str(tmp_path / "slow.spool"))
    assert (result.exit_code, recorder.loaded, dump.is_dir()) == (0, [], True)
    assert plan_path(recorder, 1) == dump


def test_a_flight_recorder_that_wrote_nothing_says_so(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    result = run(recorder, "--keep", "30s", "-o", str(tmp_path / "a.duckdb"))
    assert result.exit_code == 0
    assert result.stderr.splitlines()[-1] == (
        "rcp-trace: no trigger fired, so nothing was written; SIGUSR1 writes the window at any "
        "time."
    )


def test_dumps_of_an_earlier_run_are_kept_unless_forced(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    earlier, other = tmp_path / "a-7.duckdb", tmp_path / "a-b.duckdb"
    earlier.touch()
    other.touch()
    arguments = ("--keep", "30s", "-o", str(tmp_path / "a.duckdb"))
    result = run(recorder, *arguments)
    assert (result.exit_code, earlier.exists()) == (2, True)
    assert result.stderr == (
        f"rcp-trace: error: {earlier} already exists: name another file, or use --force to "
        "replace the dumps.\n"
    )
    assert run(recorder, "--force", *arguments).exit_code == 0
    assert (earlier.exists(), other.exists()) == (False, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--when", "request>5ms"], "--when needs --keep: say how much to keep, as in --keep 30s."),
        (["--after", "5s"], "--after needs --keep: say how much to keep, as in --keep 30s."),
        (["--max-dumps", "2"], "--max-dumps needs --keep: say how much to keep, as in --keep 30s."),
        (["--keep", "30"], "--keep '30': give a unit: ns, us, ms, s, m or h."),
        (["--keep", "10ms"], "--keep '10ms': give at least 1s."),
        (
            ["--keep", "9s", "--after", "9s"],
            "--after '9s': the slow request would be outside the window by then: give less than "
            "--keep 9s.",
        ),
        (
            ["--keep", "9s", "--when", "fsync>7s"],
            "--when 'fsync>7s': a request that slow begins before the window: give --keep more "
            "than 9s.",
        ),
        (["--keep", "9s", "--after", "x"], "--after 'x': give a number and a unit, as in 50ms."),
        (
            ["--keep", "9s", "--when", "request>50"],
            "--when 'request>50': give a unit: ns, us, ms, s, m or h.",
        ),
        (
            ["--keep", "9s", "--request", "fsync", "--when", "sync>5ms"],
            "--when 'sync>5ms': sync is not recorded: choose from request, fsync, or record it "
            "with --request.",
        ),
    ],
)
def test_a_wrong_mix_of_flight_options_ends_in_one_line(
    recorder: SimpleNamespace, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"), *arguments)
    assert (result.exit_code, result.stderr) == (2, f"rcp-trace: error: {message}\n")
    assert recorder.plan is None


def test_the_closing_lines_say_what_recording_cost(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    cost = Cost(2.0, 0.02, 3.0, 0.1, 800.0, 125_000, 1.0, 23, 1 << 20, 64 << 20)
    recorder.ended = replace(recorder.ended, cost=cost.as_dict())
    result = run(recorder, "-o", str(tmp_path / "a.spool"))
    assert result.stderr.splitlines()[1] == (
        "rcp-trace: cost: recorder 1.0 % of one CPU, probes 5.0 % (800 ns a run); "
        "64 MiB of memory, 1.0 MiB written, 12 events/s."
    )


def test_limits_reach_the_recorder(recorder: SimpleNamespace, tmp_path: Path) -> None:
    limits = ("--min-wait", "20us", "--max-cpu", "5")
    assert run(recorder, "-o", str(tmp_path / "a.spool"), *limits).exit_code == 0
    assert (recorder.plan.options.min_wait_ns, recorder.plan.max_cpu) == (20_000, 0.05)
    assert run(recorder, "-o", str(tmp_path / "b.spool")).exit_code == 0
    assert (recorder.plan.options.min_wait_ns, recorder.plan.max_cpu) == (0, None)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--min-wait", "20"], "--min-wait '20': give a unit: ns, us, ms, s, m or h."),
        (
            ["--container", "web", "--cgroup", "/x"],
            "--container and --cgroup both choose a cgroup: give only one.",
        ),
    ],
)
def test_wrong_limits_end_in_one_line(
    recorder: SimpleNamespace, tmp_path: Path, arguments: list[str], message: str
) -> None:
    result = run(recorder, "-o", str(tmp_path / "a.spool"), *arguments)
    assert (result.exit_code, result.stderr) == (2, f"rcp-trace: error: {message}\n")


@pytest.mark.parametrize(
    ("text", "seconds"), [("30", 30), ("0.5", 0.5), ("30s", 30), ("500ms", 0.5), ("2m", 120)]
)
def test_a_duration_has_a_unit_or_is_in_seconds(
    recorder: SimpleNamespace, tmp_path: Path, text: str, seconds: float
) -> None:
    assert run(recorder, "-d", text, "-o", str(tmp_path / "a.spool")).exit_code == 0
    assert recorder.plan.duration_s == seconds


@pytest.mark.parametrize("text", ["0", "0s", "-1", "fast", "30 parsecs", ""])
def test_a_duration_that_is_none_is_refused(recorder: SimpleNamespace, text: str) -> None:
    result = run(recorder, "-d", text)
    assert (result.exit_code, recorder.plan) == (2, None)
    assert "'-d' / '--duration'" in result.stderr


def test_options_are_judged_before_the_machine(recorder: SimpleNamespace, tmp_path: Path) -> None:
    recorder.features = replace(recorder.features, may_load_bpf=False, tracefs=None, has_btf=False)
    existing = tmp_path / "a.duckdb"
    existing.touch()
    for words, fault in {
        ("--min-wait", "soon"): "--min-wait 'soon'",
        ("--background", "pid:x"): "bad background rule",
        ("--request", "fsink"): "cannot record the syscall",
        ("--keep", "1ms"): "--keep '1ms'",
        ("-o", str(existing)): "already exists",
        ("-o", "/no/such/folder/a.duckdb"): "is not a folder",
    }.items():
        result = run(recorder, *words)
        (line,) = result.stderr.splitlines()
        assert line.startswith("rcp-trace: error: ") and fault in line
        assert result.exit_code == 2


def test_all_obstacles_have_a_line_each(recorder: SimpleNamespace, tmp_path: Path) -> None:
    recorder.features = replace(recorder.features, may_load_bpf=False, tracefs=None, has_btf=False)
    result = run(recorder, "-o", str(tmp_path / "a.duckdb"))
    assert (result.exit_code, recorder.plan) == (2, None)
    root, tracefs, btf = result.stderr.splitlines()
    assert root.startswith("rcp-trace: error: recording needs root")
    assert tracefs.startswith("rcp-trace: error: tracefs is not mounted: run `mount -t tracefs")
    assert btf.startswith("rcp-trace: error: this kernel has no BTF")


def test_force_removes_nothing_where_recording_is_impossible(
    recorder: SimpleNamespace, tmp_path: Path
) -> None:
    recorder.features = replace(recorder.features, has_btf=False)
    precious = tmp_path / "a.duckdb"
    precious.write_text("precious")
    assert run(recorder, "--force", "-o", str(precious)).exit_code == 2
    assert precious.read_text() == "precious"
