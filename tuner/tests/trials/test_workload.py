"""Workloads: real small processes, well-behaved and not."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rcp.analyzer.latencies.latency import Latencies
from rcp.fixtures.processes import HANG_S, comes_true
from rcp.tuner.trials import supervisor
from rcp.tuner.trials.source import Source, parse_source
from rcp.tuner.trials.workload import Abort, Run, WorkloadError, run_workload


@pytest.fixture(autouse=True)
def _supervisors_may_be_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up no supervisor whose machine stands still."""
    monkeypatch.setattr("rcp.tuner.trials.supervised._PATIENCE_S", HANG_S)


def run(
    tmp_path: Path,
    script: str,
    source: str = "lines",
    timeout_s: float = HANG_S,
    abort: Abort | None = None,
) -> Run:
    command = ["sh", "-c", script]
    return run_workload(
        command, parse_source(source), out=tmp_path, timeout_s=timeout_s, abort=abort
    )


def failure(tmp_path: Path, script: str, source: str = "lines", timeout_s: float = HANG_S) -> str:
    with pytest.raises(WorkloadError) as error:
        run(tmp_path, script, source, timeout_s)
    return str(error.value)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_what_it_prints_is_measured(tmp_path: Path) -> None:
    trial = run(tmp_path, "echo fsync 3us; echo fsync 4us; echo background=5 kB/s; echo hm >&2")
    assert trial.latencies.by_kind["fsync"].tolist() == [3000, 4000]
    assert trial.values == {"background": 5000.0}
    assert (trial.status, trial.aborted, trial.n_left) == (0, False, 0)
    assert 0 < trial.duration_s < HANG_S
    assert (tmp_path / "stdout.txt").read_text() == "fsync 3us\nfsync 4us\nbackground=5 kB/s\n"
    assert (tmp_path / "stderr.txt").read_text() == "hm\n"


def test_the_times_are_of_the_clock_of_recordings(tmp_path: Path) -> None:
    before = time.monotonic_ns()
    trial = run(tmp_path, "echo 1ms; sleep 0.3")
    assert before < trial.started_ns < trial.ended_ns < time.monotonic_ns()
    assert trial.duration_s >= 0.3


def test_a_file_it_writes_is_read(tmp_path: Path) -> None:
    script = "echo hello; printf '7us\\n8us\\n' > $RCP_TUNE_OUT/x; echo background=3"
    trial = run(tmp_path, script, "{out}/x")
    assert trial.latencies.by_kind["request"].tolist() == [7000, 8000]
    assert trial.values == {"background": 3.0}


def test_the_folder_can_be_named_in_the_command(tmp_path: Path) -> None:
    trial = run_workload(
        ["sh", "-c", 'echo 1ms > "$0"', "{out}/y"],
        Source("{out}/y"),
        out=tmp_path,
        timeout_s=HANG_S,
    )
    assert trial.latencies.n == 1


def test_its_environment_is_the_one_given(tmp_path: Path) -> None:
    trial = run_workload(
        ["/bin/sh", "-c", "echo ${LATENCY}ms"],
        Source(),
        out=tmp_path,
        timeout_s=HANG_S,
        env={"LATENCY": "9"},
    )
    assert trial.latencies.by_kind["request"].tolist() == [9_000_000]


@pytest.mark.parametrize(
    ("script", "message"),
    [
        (
            "echo 1ms; echo the disk is full >&2; exit 3",
            "sh -c 'echo 1ms; echo the disk is full >&2; exit 3' ended with exit status 3: "
            "run it by itself; the end of its stderr: 'the disk is full'.",
        ),
        ("kill -SEGV $$", "sh -c 'kill -SEGV $$' was killed by SIGSEGV: run it by itself."),
        (
            "true",
            "sh -c true printed no latency: print one a line (1.25ms, fsync 830us), "
            "or name the file that it writes.",
        ),
        (
            "echo nan",
            "sh -c 'echo nan': stdout line 1 is not a number, 'nan': "
            "leave out what was not measured.",
        ),
        (
            "echo 1ms; printf 12",
            "sh -c 'echo 1ms; printf 12': stdout ends in the middle of a line, '12': "
            "end every line with a newline.",
        ),
        (
            "echo starting",
            "sh -c 'echo starting': stdout line 1 is neither a latency nor a result, 'starting': "
            "print one latency a line (1.25ms, fsync 830us) or name=number, "
            "anything else on stderr.",
        ),
    ],
)
def test_a_workload_that_gives_no_figures_is_told(
    tmp_path: Path, script: str, message: str
) -> None:
    assert failure(tmp_path, script) == message


@pytest.mark.parametrize(
    ("command", "reason"),
    [("/nowhere/workload.sh", "No such file or directory"), ("/etc/passwd", "Permission denied")],
)
def test_a_command_that_cannot_be_started_is_told(
    tmp_path: Path, command: str, reason: str
) -> None:
    with pytest.raises(WorkloadError) as error:
        run_workload([command], Source(), out=tmp_path, timeout_s=HANG_S)
    assert str(error.value) == (
        f"{command} cannot be started: {reason}: check its path and permissions."
    )


def test_a_file_it_did_not_write_is_told(tmp_path: Path) -> None:
    assert failure(tmp_path, "true", "{out}/x.log") == (
        f"sh -c true: {tmp_path}/x.log does not exist: check what the program writes, and where."
    )


def test_one_that_hangs_is_ended(tmp_path: Path) -> None:
    assert failure(tmp_path, "echo waiting >&2; sleep 1000", timeout_s=3) == (
        "sh -c 'echo waiting >&2; sleep 1000' was still running after 3 s: "
        "make it do less, or raise --timeout; the end of its stderr: 'waiting'."
    )


def test_one_that_closes_its_stdout_but_lives_is_told(tmp_path: Path) -> None:
    assert failure(tmp_path, "exec >&-; sleep 1000", timeout_s=3) == (
        "sh -c 'exec >&-; sleep 1000' closed its stdout but was still running after 3 s: "
        "make it do less, or raise --timeout."
    )


# A daemon has a session and a parent of its own; the keeper finds it all the same.
DAEMON = "setsid sh -c 'trap \"\" TERM; echo $$ > $RCP_TUNE_OUT/pid; exec sleep 1000' & "


def wait_for(path: Path) -> int:
    assert comes_true(lambda: path.exists() and path.read_text().strip() != "")
    return int(path.read_text())


def test_what_outlives_it_is_ended_and_counted(tmp_path: Path) -> None:
    script = f"{DAEMON} while [ ! -s $RCP_TUNE_OUT/pid ]; do sleep 0.01; done; echo 1ms"
    begun = time.monotonic()
    trial = run(tmp_path, script)
    wall_s = time.monotonic() - begun
    assert trial.n_left == 1
    assert not is_running(wait_for(tmp_path / "pid"))
    assert wall_s - trial.duration_s > supervisor.GRACE_S * 0.9, (
        "ending it is not the workload's time"
    )


def test_what_a_workload_that_hangs_started_is_ended_too(tmp_path: Path) -> None:
    failure(tmp_path, f"{DAEMON} sleep 1000", timeout_s=3)
    assert not is_running(wait_for(tmp_path / "pid"))


def test_the_workload_ends_when_its_tuner_is_killed(tmp_path: Path) -> None:
    script = f"""
import pathlib
from rcp.tuner.trials.source import Source
from rcp.tuner.trials.workload import run_workload
out = pathlib.Path({str(tmp_path)!r})
run_workload(["sh", "-c", {DAEMON + "sleep 1000"!r}], Source(), out=out, timeout_s=1000)
"""
    with subprocess.Popen([sys.executable, "-c", script]) as tuner:
        pid = wait_for(tmp_path / "pid")
        assert is_running(pid)
        tuner.send_signal(signal.SIGKILL)
        tuner.wait()
        assert comes_true(lambda: not is_running(pid))


FOREVER = "while :; do echo 1ms; sleep 0.02; done"


def test_the_hook_is_told_of_everything_so_far_and_can_end_it(tmp_path: Path) -> None:
    seen: list[int] = []

    def enough(latencies: Latencies) -> bool:
        seen.append(latencies.n)
        return len(set(seen) - {0}) == 2

    trial = run(tmp_path, FOREVER, abort=enough)
    assert trial.aborted and trial.status is None
    assert seen == sorted(seen)
    assert 0 < seen[-1] <= trial.latencies.n
    assert 1 < trial.duration_s < HANG_S
    # All that it printed is read, though the trial is longer than what is waited for at its end.
    assert trial.latencies.n == (tmp_path / "stdout.txt").read_text().count("\n")
    assert trial.written_bytes is not None or not Path("/proc/self/io").exists()


def test_the_hook_is_told_of_a_file_that_grows(tmp_path: Path) -> None:
    trial = run(
        tmp_path,
        "while :; do echo 1ms >> $RCP_TUNE_OUT/x; sleep 0.02; done",
        "{out}/x",
        abort=lambda latencies: latencies.n > 10,
    )
    assert trial.aborted
    assert trial.latencies.n > 10


def test_one_that_ends_by_itself_is_read_whole(tmp_path: Path) -> None:
    trial = run(
        tmp_path,
        "for i in 1 2 3 4; do echo 1ms; echo 1ms >> $RCP_TUNE_OUT/x; sleep 0.4; done",
        abort=lambda latencies: False,
    )
    assert trial.latencies.n == 4
    again = tmp_path / "again"
    again.mkdir()
    script = "for i in 1 2 3 4; do echo 1ms >> $RCP_TUNE_OUT/x; sleep 0.4; done"
    assert run(again, script, "{out}/x", abort=lambda latencies: False).latencies.n == 4


def test_the_bytes_of_all_its_processes_are_counted(tmp_path: Path) -> None:
    script = (
        "(head -c 300000 /dev/zero > $RCP_TUNE_OUT/big; sync $RCP_TUNE_OUT/big) & wait; echo 1s"
    )
    trial = run(tmp_path, script)
    if trial.written_bytes is None:
        pytest.skip("this kernel does not count the I/O of processes")
    assert trial.written_bytes >= 300_000


def test_the_lab_has_no_duckdb_and_needs_none() -> None:
    program = "\n".join(
        [
            "import sys",
            "for name in ('duckdb', 'pyarrow', 'hdrh'): sys.modules[name] = None",
            "import rcp.tuner.trials.listen, rcp.tuner.trials.objective, rcp.tuner.trials.workload",
            "from rcp.tuner.cli import main",
            "needs = ['--journal', 'j', '--disk', 'd', '--output', '.', '--request', 'gone']",
            "main(['trial', *needs])",
        ]
    )
    done = subprocess.run([sys.executable, "-c", program], stderr=subprocess.PIPE, check=False)
    assert done.stderr == b"rcp-tune: error: gone: No such file or directory.\n"


@pytest.mark.parametrize(
    ("source", "fault", "remedy"),
    [
        ("lines", "stdout line 1 has no unit, '12': print one (12ms)", "lines:ms"),
        (
            "{out}/x",
            "/x line 1 has no unit, '12': print one (12ms)",
            "lines:ms:PATH",
        ),
    ],
)
def test_a_missing_unit_is_asked_for_in_the_words_of_source(
    tmp_path: Path, source: str, fault: str, remedy: str
) -> None:
    with pytest.raises(WorkloadError) as error:
        run(tmp_path, "echo 12 | tee $RCP_TUNE_OUT/x", source)
    assert f"{fault}, or give --source {remedy} (or ns, us, s)." in str(error.value)
