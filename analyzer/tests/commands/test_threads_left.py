"""No program ends by a signal because a thread of it is inside a library of C++ when it ends."""

import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

RECORDING = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"
RCP_TRACE = str(Path(sys.executable).parent / "rcp-trace")
RUNS, RUNS_HEAVY = 24, 800
"""Where the answer was handed over before the thread had closed its store, one of five aborted."""

LEFT_BEHIND = """
import threading, time
import click, duckdb
from rcp.probes.contract.boundary import run

def work():
    while True:  # each answer asks for the interpreter, inside DuckDB
        duckdb.connect().execute("SELECT count(*) FROM range(20000)").fetchall()

@click.command()
@click.pass_context
def main(ctx):
    for _ in range(4):
        threading.Thread(target=work, daemon=True).start()
    time.sleep(0.1)
    click.echo("answer")
    ctx.exit(3)

run("program", "__main__:main")
"""


def ended(command: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


def four_at_once(command: list[str], runs: int) -> Counter[tuple[int, str, str]]:
    with ThreadPoolExecutor(4) as pool:
        return Counter(pool.map(ended, [command] * runs))


@pytest.mark.parametrize("runs", [RUNS, pytest.param(RUNS_HEAVY, marks=pytest.mark.heavy)])
def test_a_query_ends_with_its_answer_each_time(tmp_path: Path, runs: int) -> None:
    store = str(tmp_path / "rec.duckdb")
    subprocess.run([RCP_TRACE, "recover", str(RECORDING), "-o", store], check=True)
    command = [RCP_TRACE, "sql", store, "SELECT count(*) FROM request", "--format", "csv"]
    assert four_at_once(command, runs) == {(0, "count_star()\n4120\n", ""): runs}


def test_threads_at_work_end_with_the_process() -> None:
    assert four_at_once([sys.executable, "-c", LEFT_BEHIND], 12) == {(3, "answer\n", ""): 12}


INTERRUPTED = """
import atexit, threading
import click
from rcp.probes.contract.boundary import run

asked = threading.Event()

def work():
    asked.wait()
    raise RuntimeError("interrupted")

@click.command()
def main():
    threading.Thread(target=work, daemon=True).start()

@atexit.register
def interrupt():  # as DuckDB interrupts what it is asked when the process ends
    asked.set()
    for thread in threading.enumerate():
        if thread.daemon:
            thread.join()

run("program", "__main__:main")
"""


def test_threads_interrupted_at_the_end_say_nothing() -> None:
    assert ended([sys.executable, "-c", INTERRUPTED]) == (0, "", "")
