"""Real boots, as few as possible: each asks for everything its mode can show."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.fixtures.processes import HANG_S

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("lab")]


def _lab(*args: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "rcp.lab", *args], capture_output=True, text=True, check=False
    )


def _result(out: Path) -> dict[str, object]:
    return json.loads((out / "result.json").read_text())


def test_timing_run_of_a_scenario(scenarios, tmp_path):
    out = tmp_path / "out"
    (scenarios / "hello" / "run.sh").write_text(
        "#!/bin/sh\n"
        ". ../common.sh\n"
        'greet "$WHO" > "$RCP_LAB_OUT/greeting.txt"\n'
        'cp "$RCP_LAB_IN/inputs/data.bin" "$RCP_LAB_OUT/"\n'
        "echo to stdout; echo to stderr >&2\n"
        "nproc; lsmod | grep -c ^null_blk; rcp-lab --version\n"
        'echo "$RCP_LAB $RCP_LAB_VIRTUAL_TIME $RCP_LAB_ICOUNT_SHIFT"\n'
        # Ten minutes of idling pass at once in virtual time; in any other they exceed the limit.
        "sleep 600\n"
        'exit "$1"\n'
    )
    data = tmp_path / "data.bin"
    data.write_bytes(bytes(range(256)) * 64)
    done = _lab(
        *("run", "--timing", "--scenarios", str(scenarios), "--out", str(out), "--timeout", "3600"),
        *("-e", "WHO=big world", "--input", str(data), "hello", "--", "7"),
    )
    assert done.returncode == 7, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:3] == ["to stdout", "1", "1"]
    assert lines[3].startswith("rcp-lab, version ")
    assert lines[4] == "1 1 0"
    assert "to stderr" in done.stderr
    assert (out / "stdout.txt").read_text() == done.stdout
    assert (out / "stderr.txt").read_text() == "to stderr\n"
    assert (out / "greeting.txt").read_text() == "hello big world\n"
    assert (out / "data.bin").read_bytes() == data.read_bytes()
    told = _result(out)
    assert told["exit_status"] == 7
    assert told["virtual_time"] is True
    assert told["icount_shift"] == 0
    assert 600 <= told["guest_command_s"] < 610
    assert told["wall_s"] < told["guest_command_s"]  # idle time is skipped


def test_a_shift_starts_the_command_later_with_more_pages_in_use(tmp_path):
    command = (
        "python3 -c 'import time; print(time.monotonic_ns())'; stat -c %s /dev/shm/rcp-*; exit 0"
    )

    def told(shift: int) -> tuple[int, list[str]]:
        out = tmp_path / str(shift)
        done = _lab("run", "--timing", "--out", str(out), "--shift", str(shift), "--", command)
        assert done.returncode == 0, done.stderr
        assert _result(out)["shift"] == shift
        started_ns, *size = done.stdout.split()
        return int(started_ns), size

    usual_ns, none = told(0)
    later_ns, size = told(1000)
    assert none == []
    assert size == [str(1000 * 4096)]
    assert 100e6 < later_ns - usual_ns < 174e6  # 137 ms


def test_functional_run_has_two_cpus_and_real_time(tmp_path):
    out = tmp_path / "out"
    done = _lab(
        *("run", "--functional", "--out", str(out), "--timeout", "3600", "--output-mb", "16"),
        "--",
        "nproc; echo $RCP_LAB_VIRTUAL_TIME; grep -c cx16 /proc/cpuinfo; sleep 2; "
        "(sleep 1000; echo late) & exit 0",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "2\n0\n0\n"
    told = _result(out)
    assert told["virtual_time"] is False
    assert told["wall_s"] >= told["guest_command_s"] >= 2


@pytest.mark.parametrize("end", ["b", "c"], ids=["reboot", "panic"])
def test_machine_that_ends_by_itself_is_lost_and_never_a_pass(end, tmp_path):
    out = tmp_path / "out"
    command = f"echo before; sleep 1; echo {end} > /proc/sysrq-trigger; sleep 1000; exit 0"
    done = _lab("run", "--timing", "--out", str(out), "--timeout", "3600", "--", command)
    assert done.returncode == 125, done.stderr
    assert done.stdout == "before\n"
    assert "rcp-lab: error: the machine ended" in done.stderr
    assert _result(out)["outcome"] == "lost"
    assert "sysrq" in (out / "console.log").read_text()


def test_artefacts_that_do_not_fit_are_no_pass(tmp_path):
    # Room is given in steps of 128 MiB.
    command = "head -c 130M /dev/zero > $RCP_LAB_OUT/big; exit 0"
    args = ("--out", str(tmp_path / "out"), "--output-mb", "8", "--timeout", "3600")
    done = _lab("run", "--timing", *args, "--", command)
    assert done.returncode == 125
    assert "did not fit on the output disk: raise --output-mb" in done.stderr


def test_run_past_its_limit_is_ended(tmp_path):
    out = tmp_path / "out"
    done = _lab(
        "run", "--timing", "--out", str(out), "--timeout", "15", "--", "while :; do :; done"
    )
    assert done.returncode == 124, done.stderr
    assert "longer than 15 s of wall time" in done.stderr
    told = _result(out)
    assert told["outcome"] == "timeout"
    assert told["exit_status"] is None
    assert 15 <= told["wall_s"] < HANG_S
