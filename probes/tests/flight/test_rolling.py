import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from rcp.probes.contract.events import FILE, RECORDS, REQUEST, SCHEMA_VERSION, SLEEP, TASK, TaskFlag
from rcp.probes.contract.spool import open_spool, pack
from rcp.probes.flight import rolling
from rcp.probes.flight.rolling import RollingSpool, counters_since, without_exited

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import Clock

META = {"schema_version": SCHEMA_VERSION}
S = 1_000_000_000

Make = Callable[..., RollingSpool]


@pytest.fixture
def make(tmp_path: Path, clock: "Clock") -> Make:
    def of(keep_s: float = 8, max_bytes: int = 1 << 30) -> RollingSpool:
        return RollingSpool(tmp_path / "r.spool", META, int(keep_s * S), max_bytes, clock)

    return of


def sleeps(*tids: int) -> np.ndarray:
    rows = np.zeros(len(tids), SLEEP.dtype)
    rows["tid"] = tids
    return rows


def tasks(*threads: tuple[int, int, int]) -> np.ndarray:
    """(tid, ts, flags) each."""
    rows = np.zeros(len(threads), TASK.dtype)
    for row, (tid, ts, flags) in zip(rows, threads, strict=True):
        row["tid"], row["ts"], row["flags"] = tid, ts, flags
    return rows


def seconds_in(spool: RollingSpool) -> list[int]:
    tids: list[int] = open_spool(spool.path).records(SLEEP)["tid"].tolist()
    return tids


def test_the_last_seconds_are_kept_in_order_and_older_ones_deleted(
    make: Make, clock: "Clock"
) -> None:
    spool = make(keep_s=8)
    for second in range(30):
        spool.append(SLEEP, sleeps(second))
        clock.pass_s(1)
        spool.roll()
        # what was drained in the last 8 s is there, and at most one piece (1 s) more
        assert seconds_in(spool) == list(range(max(0, second - 7), second + 1))
    assert spool.window_ns == (clock.now_ns - 8 * S, clock.now_ns)
    assert len(list(spool.path.glob("sleep.*.bin"))) == 8


def test_disk_use_does_not_grow_with_time(make: Make, clock: "Clock") -> None:
    spool = make(keep_s=8)
    sizes = []
    for _ in range(40):
        spool.append(SLEEP, sleeps(*range(100)))
        clock.pass_s(1)
        spool.roll()
        sizes.append(sum(path.stat().st_size for path in spool.path.iterdir()))
    assert sizes[-1] == sizes[10]


def test_a_window_larger_than_its_bound_is_made_shorter_and_counted(
    make: Make, clock: "Clock"
) -> None:
    spool = make(keep_s=8, max_bytes=4 * 101 * SLEEP.size_bytes)  # 100 and their frames
    for second in range(8):
        spool.append(SLEEP, sleeps(*[second] * 100))
        clock.pass_s(1)
        spool.roll()
    assert sorted(set(seconds_in(spool))) == [4, 5, 6, 7]
    assert spool.n_cut_short == 4


def test_names_outlive_the_window(make: Make, clock: "Clock") -> None:
    spool = make(keep_s=8)
    spool.append(TASK, tasks((1, 5, 0)))
    spool.append(FILE, np.ones(1, FILE.dtype))
    spool.append_stacks([(3, ["schedule"])])
    for _ in range(20):
        clock.pass_s(1)
        spool.roll()
    window = open_spool(spool.path)
    assert window.records(TASK)["tid"].tolist() == [1]
    assert (len(window.records(FILE)), window.stacks()) == (1, {3: ["schedule"]})


def test_threads_that_ended_before_the_window_are_forgotten() -> None:
    ended = TaskFlag.EXITED
    rows = tasks((1, 10, 0), (2, 11, 0), (1, 20, ended), (1, 30, 0), (2, 90, ended), (3, 40, ended))
    assert [tuple(row) for row in without_exited(rows, 50)[["tid", "ts"]].tolist()] == [
        (2, 11),  # ended in the window
        (1, 30),  # the tid's next owner
        (2, 90),
    ]
    assert len(without_exited(rows[:2], 50)) == 2


def test_task_records_are_bounded(
    make: Make, clock: "Clock", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rolling, "_LASTING_ROWS_MAX", 100)
    spool = make(keep_s=8)
    spool.append(TASK, tasks((7, 1, 0)))
    for generation in range(50):  # short-lived threads, born and gone
        at = clock.now_ns
        spool.append(TASK, tasks(*[(100 + generation, at + i, i // 4 * 8) for i in range(5)]))
        clock.pass_s(1)
        spool.roll()
        assert len(open_spool(spool.path).records(TASK)) <= 105
    assert 7 in open_spool(spool.path).records(TASK)["tid"]
    spool.append(TASK, tasks(*[(tid, 1, 0) for tid in range(1000)]))  # nobody ends
    spool.roll()
    assert open_spool(spool.path).records(TASK)["tid"].tolist() == list(range(950, 1000))


def test_a_dump_is_a_whole_spool_of_the_window(make: Make, clock: "Clock", tmp_path: Path) -> None:
    spool = make(keep_s=8)
    spool.append(TASK, tasks((1, 5, 0)))
    for second in range(20):
        spool.append(SLEEP, sleeps(second))
        spool.write_counters({"lost": {"sleep": [second + 1]}})
        clock.pass_s(1)
        spool.roll()
    under_way = np.ones(1, REQUEST.dtype)
    spool.dump(tmp_path / "d.spool", {**META, "x": 1}, {"why": "trigger"}, {"request": under_way})
    dump = open_spool(tmp_path / "d.spool")
    assert dump.records(SLEEP)["tid"].tolist() == list(range(12, 20))
    assert dump.records(TASK)["tid"].tolist() == [1]
    assert len(dump.records(REQUEST)) == 1
    assert dump.counters == {"lost": {"sleep": [8]}}  # of the window, not of all time
    assert (dump.meta["x"], dump.end) == (1, {"why": "trigger"})
    assert seconds_in(spool) == list(range(12, 20))  # the window goes on


def test_a_killed_flight_recorder_leaves_a_spool_that_loads_and_packs(
    make: Make, clock: "Clock", tmp_path: Path
) -> None:
    spool = make(keep_s=8)
    for second in range(3):
        spool.append(SLEEP, sleeps(second))
        clock.pass_s(1)
        spool.roll()
    newest = sorted(spool.path.glob("sleep.*.bin"))[-1]
    newest.write_bytes(newest.read_bytes()[:-1])
    left = open_spool(spool.path)
    assert left.end is None
    assert left.records(SLEEP)["tid"].tolist() == [0, 1]
    assert left.n_missing(SLEEP) == 1
    pack(spool.path, tmp_path / "r.spool.tar.xz")


def test_counters_are_of_the_window(make: Make, clock: "Clock") -> None:
    spool = make(keep_s=8)
    for second in range(20):
        spool.write_counters({"lost": {"io": [10 * (second + 1), 1]}})
        clock.pass_s(1)
        spool.roll()
    spool.write_counters({"lost": {"io": [200, 5]}})
    assert open_spool(spool.path).counters == {"lost": {"io": [80, 4]}}


def missing_in(folder: Path) -> int:
    read = open_spool(folder)
    return sum(read.n_missing(record) for record in RECORDS) + read.n_missing_stacks()


def test_a_flight_recorder_killed_at_any_step_misses_nothing(
    make: Make, clock: "Clock", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy of the folder is taken before each file is renamed or deleted."""
    monkeypatch.setattr(rolling, "_LASTING_ROWS_MAX", 20)
    spool = make(keep_s=8)
    copies: list[Path] = []

    def copying(step: str) -> None:
        act = getattr(Path, step)

        def of(path: Path, *arguments: object, **named: object) -> object:
            if path.parent == spool.path:
                copies.append(tmp_path / f"copy-{len(copies)}")
                shutil.copytree(spool.path, copies[-1])
            return act(path, *arguments, **named)

        monkeypatch.setattr(Path, step, of)

    copying("unlink")
    copying("replace")
    for second in range(12):
        spool.append(SLEEP, sleeps(second))
        spool.append(TASK, tasks(*[(10 * second + n, 1, 0) for n in range(5)]))
        spool.append_stacks([(second, ["schedule"])])
        clock.pass_s(1)
        spool.roll()
        spool.write_counters({"written": {"sleep": [second]}})
    copies.append(spool.path)
    assert len(list(spool.path.glob("task*.bin"))) == 1
    for copy in copies:
        assert missing_in(copy) == 0
        tids = set(open_spool(copy).records(TASK)["tid"].tolist())
        assert len(tids) >= 5


def test_a_dump_counts_what_its_window_has_lost(make: Make, clock: "Clock", tmp_path: Path) -> None:
    spool = make(keep_s=8)
    spool.append(SLEEP, sleeps(1, 2, 3))
    spool.append(SLEEP, sleeps(4))
    spool.write_counters({"lost": {"sleep": [2, 1]}})
    (piece,) = spool.path.glob("sleep.*.bin")
    piece.write_bytes(piece.read_bytes()[: -SLEEP.size_bytes])
    spool.dump(tmp_path / "d.spool", META, {"why": "trigger"}, {})
    dump = open_spool(tmp_path / "d.spool")
    assert dump.records(SLEEP)["tid"].tolist() == [1, 2, 3]
    assert dump.counters == {"lost": {"sleep": [3, 1]}}
    assert missing_in(dump.path) == 0


def test_a_counter_that_is_new_counts_from_nothing() -> None:
    assert counters_since({"lost": {"io": [3], "task": [4]}}, {"lost": {"io": [1]}}) == {
        "lost": {"io": [2], "task": [4]}
    }
    assert counters_since({"lost": {"io": [3]}}, {}) == {"lost": {"io": [3]}}
