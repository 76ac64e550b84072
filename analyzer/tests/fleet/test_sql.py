"""One query over many recordings: answers merged as told, failures named, dead workers retried."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Event, Thread

import pytest

from rcp.analyzer.fleet.spread.asking import together
from rcp.analyzer.fleet.spread.cluster import ask_by_dask
from rcp.analyzer.fleet.spread.partition import Partial, ask_partition, recordings_in
from rcp.analyzer.fleet.spread.processes import DIED, ask_by_processes
from rcp.analyzer.loading.load import load_spool
from rcp.analyzer.tests.fleet.conftest import Run
from rcp.analyzer.tests.fleet.hosts import recorded
from rcp.fixtures.processes import HANG_S
from rcp.probes.contract.spool import pack

COUNTS = "SELECT name, count(*) AS n, max(dur) AS longest FROM request GROUP BY name"
SUMS = "SELECT name, sum(n)::INTEGER AS n, max(longest) AS longest FROM part GROUP BY name"


@pytest.fixture
def recordings(tmp_path: Path) -> Path:
    """A store, a spool and a packed spool, in folders."""
    root = tmp_path / "recordings"
    (root / "deeper").mkdir(parents=True)
    load_spool(recorded(durs_ns=[1000]).write(tmp_path / "a.spool"), root / "a.duckdb")
    recorded(durs_ns=[2000, 3000]).write(root / "deeper/b.spool")
    pack(recorded(durs_ns=[4000]).write(tmp_path / "c.spool"), root / "c.spool.tar.xz")
    return root


def test_every_kind_of_recording_is_found(recordings: Path) -> None:
    assert list(recordings_in(str(recordings))) == ["a.duckdb", "c.spool.tar.xz", "deeper/b.spool"]


def test_answers_follow_each_other_or_are_merged(recordings: Path, run: Run) -> None:
    done = run("fleet", "sql", recordings, COUNTS, "--format", "csv")
    assert (done.exit_code, done.stdout) == (
        0,
        "recording,name,n,longest\na.duckdb,fsync,1,1000\nc.spool.tar.xz,fsync,1,4000\n"
        "deeper/b.spool,fsync,2,3000\n",
    )
    done = run("fleet", "sql", recordings, COUNTS, "--merge", SUMS, "--format", "csv", "--jobs", 1)
    assert (done.exit_code, done.stdout) == (0, "name,n,longest\nfsync,4,4000\n")


def test_a_recording_that_fails_is_named(recordings: Path, run: Run) -> None:
    bad = recordings / "bad.duckdb"
    bad.write_bytes(b"no store")
    done = run("fleet", "sql", recordings, COUNTS, "--merge", SUMS, "--format", "csv")
    assert (done.exit_code, done.stdout) == (3, "name,n,longest\nfsync,4,4000\n")
    assert done.stderr == (
        f"rcp-trace: warning: bad.duckdb failed: {bad} is not a recording: neither a DuckDB file "
        "nor a spool; `rcp-trace record` makes one.\n"
        "rcp-trace: warning: the answer is of 3 of 4 recordings.\n"
    )


def test_what_a_recording_lacks_is_told_once(recordings: Path, run: Run) -> None:
    recorded(lost=20).write(recordings / "deeper/d.spool")  # 20 of 1 + 2 * 3 + 20 sleeps
    done = run(
        "fleet", "sql", recordings, "SELECT count(*) AS n FROM sleep", "--merge", "FROM part"
    )
    assert done.exit_code == 0
    assert done.stderr == (
        "rcp-trace: warning: deeper/d.spool: Incomplete recording: the recorder lost 74.1 % of "
        "the sleeps and ios.\n"
    )
    whole = run("fleet", "sql", recordings, "SELECT nothing FROM sleep")
    assert "Incomplete" not in whole.stderr


def test_errors_are_one_line(recordings: Path, tmp_path: Path, run: Run) -> None:
    def error(*words: object) -> str:
        done = run("fleet", "sql", *words)
        assert (done.exit_code, done.stdout) == (2, "")
        return done.stderr.removeprefix("rcp-trace: error: ").removesuffix("\n")

    assert error(tmp_path / "nowhere", COUNTS) == (
        f"{tmp_path}/nowhere is not a folder: give one with recordings, or ask a single one with "
        "`rcp-trace sql`."
    )
    (tmp_path / "empty").mkdir()
    assert error(tmp_path / "empty", COUNTS) == (
        f"{tmp_path}/empty has no recordings: copy .duckdb files or spools there."
    )
    assert error(recordings, "SELECT nothing FROM request").startswith(
        'a.duckdb failed (bad SQL: Referenced column "nothing" not found'
    )
    assert error(recordings, "DROP TABLE request").startswith(
        "a.duckdb failed (a recording is only read, DROP would change it"
    )
    assert error(recordings, COUNTS, "--merge", "SELECT m FROM part").startswith(
        '--merge: bad SQL: Referenced column "m" not found'
    )
    assert error(recordings, COUNTS, "--jobs", "2", "--dask", "tcp://x:1") == (
        "--jobs and --dask were given: Dask's workers are as many as it has."
    )


def test_a_query_reads_no_files(recordings: Path) -> None:
    answer = ask_partition(str(recordings / "a.duckdb"), "FROM read_csv('/etc/passwd')")
    assert "bad SQL" in answer.why_not


def test_columns_of_other_types_fit_and_other_columns_do_not(recordings: Path) -> None:
    path = str(recordings / "a.duckdb")
    small, large = (
        ask_partition(path, "SELECT 1::TINYINT AS x"),
        ask_partition(path, "SELECT 9 AS x"),
    )
    none = ask_partition(path, "SELECT NULL AS x")
    found = together({"a": small, "b": large, "c": none}, None)
    assert found.result.rows == [("a", 1), ("b", 9), ("c", None)]
    with pytest.raises(Exception, match="do not fit together: b has other columns"):
        together({"a": small, "b": ask_partition(path, "SELECT 1 AS y")}, None)


@contextmanager
def killing(children: int) -> Iterator[None]:
    """Kill the next *children* workers as soon as they are there."""
    over = Event()
    # Workers of a pool before may still be about to end.
    earlier = {child.pid for child in multiprocessing.active_children()}

    def kill() -> None:
        killed: set[int] = set()
        while len(killed) < children and not over.is_set():
            for child in multiprocessing.active_children():
                if child.pid and child.pid not in killed | earlier and len(killed) < children:
                    time.sleep(0.05)
                    os.kill(child.pid, signal.SIGKILL)
                    killed.add(child.pid)
            time.sleep(0.01)

    thread = Thread(target=kill)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def copies(recordings: Path, n: int) -> dict[str, str]:
    for at in range(n):
        shutil.copyfile(recordings / "a.duckdb", recordings / f"copy{at}.duckdb")
    return recordings_in(str(recordings))


def test_a_worker_that_dies_is_retried(recordings: Path) -> None:
    paths = copies(recordings, 5)
    with killing(1):
        found = together(ask_by_processes(paths, COUNTS, 2), SUMS)
    assert found.failed == []
    assert found.result.rows == [("fsync", 9, 4000)]


def test_a_recording_that_kills_its_workers_is_named(recordings: Path) -> None:
    paths = {"a.duckdb": str(recordings / "a.duckdb")}
    with killing(3):
        found = ask_by_processes(paths, COUNTS, 1)
    assert found == {"a.duckdb": Partial(b"", DIED)}


def test_dask_gives_the_same_answer_when_a_worker_is_killed(
    recordings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    distributed = pytest.importorskip("distributed", reason="install rcp-trace[dask]")
    monkeypatch.setattr("rcp.analyzer.fleet.spread.cluster._CONNECT_S", HANG_S)
    paths = copies(recordings, 5)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        ThreadPoolExecutor(1) as pool,
    ):
        asked = pool.submit(ask_by_dask, paths, COUNTS, cluster.scheduler_address)
        time.sleep(0.3)
        os.kill(cluster.workers[0].process.pid, signal.SIGKILL)
        found = together(asked.result(), SUMS)
    assert found.failed == []
    assert found.result.rows == [("fsync", 9, 4000)]


def test_a_scheduler_that_does_not_answer_is_told(recordings: Path, run: Run) -> None:
    pytest.importorskip("distributed", reason="install rcp-trace[dask]")
    done = run("fleet", "sql", recordings, COUNTS, "--dask", "tcp://127.0.0.1:9")
    assert done.exit_code == 2
    assert done.stderr.startswith(
        "rcp-trace: error: no Dask scheduler answers at tcp://127.0.0.1:9"
    )
    assert done.stderr.endswith("start one with `dask scheduler`.\n")
