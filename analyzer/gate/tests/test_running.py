"""``rcp-trace gate run``: real commands, in turn."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rcp.analyzer.gate.running import turns
from rcp.analyzer.gate.tests.conftest import Gate, GateError
from rcp.analyzer.latencies.tests.written import FILES
from rcp.fixtures.processes import HANG_S, comes_true

PROGRAM = """
import os, random, sys, time
factor, at = float(sys.argv[1]), sys.argv[2]
noise = float(sys.argv[4]) if len(sys.argv) > 4 else 0.02
with open(at, "a") as log:
    log.write(sys.argv[3])
    log.flush()
    seed = os.path.getsize(at)
generator = random.Random(seed)
effect = generator.lognormvariate(0, noise)
for _ in range(3000):
    print(f"{generator.lognormvariate(0, 0.5) * factor * effect:.6f}ms")
"""


@pytest.fixture
def command(tmp_path: Path) -> str:
    program = tmp_path / "load.py"
    program.write_text(PROGRAM)
    return f"{sys.executable} {program} {{}} {tmp_path}/order {{}}"


def test_turns_alternate_so_that_drift_is_shared() -> None:
    assert "".join(turns(4)) == "ABBAABBA"


def test_an_unchanged_command_passes_and_runs_in_turn(
    command: str, gate: Gate, tmp_path: Path
) -> None:
    a, b = command.format(1, "A"), command.format(1, "B")
    result = gate("run", "--a", a, "--b", b, "--runs", 6, "--max-regression", "p99=20%")
    assert result.exit_code == 0, result.output
    order = (tmp_path / "order").read_text()
    assert order.startswith("ABBAABBAABBA")


def test_a_regression_is_confirmed_by_fresh_runs(command: str, gate: Gate, tmp_path: Path) -> None:
    a, b = command.format(1, "A"), command.format(1.4, "B")
    words = ("run", "--a", a, "--b", b, "--runs", 5, "--format", "json", "--keep", tmp_path / "k")
    result = gate(*words)
    told = json.loads(result.stdout)
    assert (result.exit_code, told["verdict"], told["confirmed"]) == (1, "regression", True)
    # 5 runs, then 2 more at each look: with 7 or more a side, the arrangements suffice.
    runs = told["quantiles"][0]["candidate"]["runs"]
    assert runs in (7, 9, 10)
    assert told["alpha"] == 0.005
    assert "not clear yet after 5 runs a side: 2 more, at most 10 in all" in result.stderr
    assert len(list((tmp_path / "k").glob("B*/stdout.txt"))) == runs
    assert (tmp_path / "order").read_text().startswith("ABBAABBAABBA")


def test_more_runs_are_made_up_to_the_most(command: str, gate: Gate, tmp_path: Path) -> None:
    # The gate subtracts what goes with the machine's pace, by chance too: enough noise is left.
    a, b = command.format(1, "A") + " 1", command.format(1, "B") + " 1"
    words = ("run", "--a", a, "--b", b, "--runs", 3, "--max-runs", 7, "--format", "json")
    result = gate(*words, "--max-regression", "p99=1%")
    told = json.loads(result.stdout)
    assert told["quantiles"][0]["candidate"]["runs"] == 7
    assert (result.exit_code, told["verdict"], told["setup_is_short"]) == (0, "inconclusive", False)
    assert (tmp_path / "order").read_text() == "ABBAABBAABBAAB"


def test_a_closed_loop_is_corrected_as_files_are(gate: Gate, tmp_path: Path) -> None:
    """A request of 10 ms leaves out nine that were to start meanwhile, 1 ms apart."""
    load = tmp_path / "load"
    load.write_text("1ms\n" * 99 + "10ms\n")
    sides = ("--a", f"cat {load}", "--b", f"cat {load}")
    for more, n in (((), 100), (("--interval", "1ms"), 109)):
        words = ("run", *sides, "--runs", 1, "--max-runs", 1, "--format", "json", *more)
        (told,) = json.loads(gate(*words).stdout)["quantiles"]
        assert (told["baseline"]["requests"], told["candidate"]["requests"]) == (n, n)


def test_the_most_runs_are_no_less_than_the_first(gate_error: GateError) -> None:
    words = ("run", "--a", "true", "--b", "true", "--max-runs", 4)
    assert gate_error(*words) == ("--max-runs 4 is less than the 8 first runs: give more.")
    assert gate_error(*words, "--no-confirm") == (
        "--max-runs and --no-confirm contradict each other: leave one out."
    )


CHILD = "echo $$ > {pids}.new; mv {pids}.new {pids}; exec sleep 300"


def test_an_interrupt_stops_the_run_and_exits_with_130(tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    program = Path(sys.executable).with_name("rcp-trace")
    gate_run = subprocess.Popen(
        [program, "gate", "run", "--b", "true", "--a", CHILD.format(pids=pids)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert comes_true(pids.exists)
        gate_run.send_signal(signal.SIGINT)
        _, told = gate_run.communicate(timeout=HANG_S)
    finally:
        gate_run.kill()
        gate_run.wait()
    assert gate_run.returncode == 130
    assert "Traceback" not in told
    child = Path(f"/proc/{pids.read_text().strip()}")
    assert comes_true(lambda: not child.exists())


def test_a_run_may_write_a_file(command: str, gate: Gate) -> None:
    a = command.format(1, "A") + " > $RCP_GATE_OUT/out.txt"
    words = ("run", "--a", a, "--b", a, "--runs", 6, "--latencies", "out.txt", "--no-confirm")
    result = gate(*words, "--max-regression", "p99=30%")
    assert result.exit_code == 0, result.output


def error_of(gate: Gate, command: str, *words: object) -> str:
    result = gate("run", "--a", command, "--b", "true", "--runs", 1, *words)
    assert (result.exit_code, result.stdout) == (2, "")
    progress, error = result.stderr.splitlines()
    assert progress == "rcp-trace: A, run 1"
    return error.removeprefix("rcp-trace: error: ")


def test_a_run_that_fails_is_named(gate: Gate) -> None:
    told = error_of(gate, "echo no disk >&2; exit 7")
    assert told == "A, run 1 failed (exit status 7): no disk."


def test_a_run_that_takes_too_long_is_ended(gate: Gate) -> None:
    assert error_of(gate, "sleep 60 & sleep 60", "--timeout", 1) == (
        "A, run 1 took longer than 1 s: allow more with --timeout."
    )


def test_options_of_the_lab_are_for_the_lab(gate_error: GateError) -> None:
    words = ("run", "--a", "true", "--b", "true", "--lab-options")
    assert gate_error(*words, "--input x") == (
        "--lab-options needs --lab: add it, or leave --lab-options out."
    )
    assert gate_error(*words, "--input 'x", "--lab") == (
        '--lab-options "--input \'x": No closing quotation: quote it as for a shell.'
    )


def test_a_run_that_prints_nothing_is_told_what_to_print(gate: Gate, tmp_path: Path) -> None:
    for words in ((), ("--keep", tmp_path), ("--input-format", "lines")):
        assert error_of(gate, "echo", *words) == (
            "A, run 1 printed nothing: print a latency a line, or name the program's file by "
            "--latencies."
        )


def test_errors_name_the_run_and_not_its_temporary_folder(gate: Gate) -> None:
    assert error_of(gate, "echo 5") == (
        "A, run 1: stdout line 1 has no unit, '5': print one (5ms), or give --unit ms (or ns, us, "
        "s)."
    )
    assert error_of(gate, "echo 5 latencies").startswith(
        "A, run 1: stdout is in an unknown format: known are recording, "
    )
    table = "printf 'n,took\\n1,2\\n' > $RCP_GATE_OUT/out.csv"
    assert error_of(gate, table, "--latencies", "out.csv") == (
        "A, run 1: out.csv has no column that is clearly the latency: write --latencies "
        "out.csv:COLUMN with one of n, took."
    )
    assert error_of(gate, table, "--latencies", "out.csv:took").startswith(
        "A, run 1: out.csv does not say the unit of 'took': "
    )
    assert error_of(gate, "true", "--latencies", "out.txt") == (
        "A, run 1: out.txt does not exist: check what the program writes, and where."
    )
    assert error_of(gate, "echo > $RCP_GATE_OUT/out.txt", "--latencies", "out.txt") == (
        "A, run 1: out.txt is empty: the program wrote no latencies."
    )


def test_what_is_told_of_a_run_later_names_it_too(gate: Gate) -> None:
    words = ("run", "--a", "echo 5ms", "--b", "echo 6ms", "--runs", 1)
    result = gate(*words, "--max-regression", "p99=5%@fsync")
    assert result.stderr.splitlines()[-1] == (
        "rcp-trace: error: A, run 1: stdout has no 'fsync' requests for p99@fsync: it has request."
    )
    report = (FILES / "generators/vegeta-text.txt").read_text()
    words = ("run", "--a", f"cat <<'E'\n{report}E", "--b", "echo 6ms", "--runs", 1)
    told = json.loads(gate(*words, "--format", "json").stdout)
    assert (
        "A, run 1: stdout: quantiles only; `vegeta encode` writes every latency"
        in (told["warnings"])
    )
