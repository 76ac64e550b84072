"""The recorder names causes rightly: against what the workload did, and against ftrace."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rcp.probes.contract.events import (
    FILE,
    IO,
    IO_CAUSE,
    JOURNAL_BLOCK,
    JOURNAL_COMMIT,
    JOURNAL_HANDLE,
    SLEEP,
    TASK,
    THROTTLE,
    FileFlag,
    Record,
    SleepFlag,
    WaitReason,
)
from rcp.probes.contract.spool import open_spool

pytestmark = pytest.mark.lab
Rows = npt.NDArray[np.void]
JOURNAL = "jbd2/nullb1-8"


class Evidence:
    """The recording of guest_workload.py, what that did, and what ftrace saw of it."""

    def __init__(self, folder: Path) -> None:
        self._spool = open_spool(folder / "causes.spool")
        self.truth: dict[str, Any] = json.loads((folder / "truth.json").read_text())
        self.witness = (folder / "witness.txt").read_text()
        self.tids: dict[str, set[int]] = {}
        self.names: dict[int, str] = {}
        for row in self.rows(TASK):
            name = row["comm"].decode()
            self.tids.setdefault(name, set()).add(int(row["tid"]))
            self.names[int(row["tid"])] = name

    def rows(self, record: Record) -> Rows:
        rows: Rows = self._spool.records(record)
        return rows

    def lost(self) -> int:
        return sum(map(sum, self._spool.counters["lost"].values()))

    def sleeps(self, name: str, reason: WaitReason) -> Rows:
        rows = self.rows(SLEEP)
        mine = np.isin(rows["tid"], list(self.tids[name])) & (rows["reason"] == reason)
        chosen: Rows = rows[mine & (rows["flags"] & SleepFlag.PREEMPTED == 0)]
        return chosen


@pytest.fixture(scope="module")
def evidence(recorder_lab: Path) -> Evidence:
    return Evidence(recorder_lab)


def test_nothing_is_lost(evidence: Evidence) -> None:
    assert evidence.lost() == 0


def test_who_ran_instead_is_whom_ftrace_saw_leave_the_cpu(evidence: Evidence) -> None:
    switch = re.compile(r"prev_pid=(\d+) .*==> next_comm=hog-\w next_pid=(\d+)")
    seen = [(int(tid), int(prev)) for prev, tid in switch.findall(evidence.witness)]
    for tid in evidence.tids["hog-a"] | evidence.tids["hog-b"]:
        rows = evidence.rows(SLEEP)
        # ftrace knows a hog by its name, which the first records of its pid precede
        recorded = [int(prev) for prev in rows[rows["tid"] == tid]["ran_tid"]]
        expected = [prev for next_tid, prev in seen if next_tid == tid]
        assert len(expected) > 3
        assert recorded[-len(expected) :] == expected


def test_two_tasks_that_want_one_cpu_are_named_as_each_other(evidence: Evidence) -> None:
    rows = evidence.rows(SLEEP)
    (a,), (b,) = evidence.tids["hog-a"], evidence.tids["hog-b"]
    mine = rows[(rows["tid"] == a) & (rows["flags"] & SleepFlag.PREEMPTED > 0)]
    assert Counter(mine["ran_tid"].tolist()).most_common(1)[0][0] == b


@pytest.mark.parametrize(
    ("file", "pages"),
    [
        ("alpha", {"writer-a": 128}),
        ("beta", {"writer-b": 64}),
        ("shared", {"writer-a": 24, "writer-b": 8}),
    ],
)
def test_ios_of_a_flusher_are_caused_by_who_dirtied_the_file(
    evidence: Evidence, file: str, pages: dict[str, int]
) -> None:
    ino, dev = (evidence.truth["writers"]["files"][file][key] for key in ("ino", "dev"))
    causes = evidence.rows(IO_CAUSE)
    mine = causes[(causes["ino"] == ino) & (causes["dev"] == dev)]
    caused: Counter[str] = Counter()
    for cause in mine:
        caused[evidence.names[int(cause["tid"])]] += int(cause["n_pages"])
    assert caused == pages
    assert mine["n_causes"].max() == len(pages)
    ios = {int(io["id"]): io for io in evidence.rows(IO)}
    written = [ios[int(io)] for io in np.unique(mine["io"])]
    assert sum(int(io["bytes"]) for io in written) == sum(pages.values()) * 4096
    assert {int(io["ino"]) for io in written} == {ino}
    writers = set().union(*(evidence.tids[name] for name in pages))
    assert not writers & {int(io["submitter_tid"]) for io in written}


def test_pages_truncated_before_they_are_written_are_nobodys(evidence: Evidence) -> None:
    file = evidence.truth["truncated"]["file"]
    causes = evidence.rows(IO_CAUSE)
    mine = causes[(causes["ino"] == file["ino"]) & (causes["dev"] == file["dev"])]
    assert {evidence.names[int(tid)] for tid in mine["tid"]} == {"keeper"}
    assert mine["n_pages"].sum() == 8


def test_a_direct_io_is_not_of_the_file_whose_page_is_its_buffer(evidence: Evidence) -> None:
    (borrower,) = evidence.tids["borrower"]
    ios, causes = evidence.rows(IO), evidence.rows(IO_CAUSE)
    direct = ios[(ios["submitter_tid"] == borrower) & (ios["cmd_flags"] & 0xFF == 1)]
    assert direct["bytes"].sum() == 4 * 4096
    assert set(direct["ino"].tolist()) == {0}
    source = evidence.truth["borrowed"]["source"]
    written = causes[(causes["ino"] == source["ino"]) & (causes["dev"] == source["dev"])]
    assert not np.isin(written["io"], direct["id"]).any()
    assert {evidence.names[int(tid)] for tid in written["tid"]} == {"lender"}
    assert written["n_pages"].sum() == 4  # when it was synced itself


@pytest.mark.parametrize(("file", "cgroup"), [("alpha", "ev-a"), ("beta", "ev-b")])
def test_an_io_is_charged_to_the_cgroup_of_the_writer(
    evidence: Evidence, file: str, cgroup: str
) -> None:
    writers = evidence.truth["writers"]
    ios, target = evidence.rows(IO), writers["files"][file]
    mine = ios[(ios["dev"] == target["dev"]) & (ios["ino"] == target["ino"])]
    mine = mine[mine["cmd_flags"] & 0xFF == 1]
    assert set(mine["cgroup_id"].tolist()) == {writers["cgroups"][cgroup]}


def test_files_have_the_names_they_have(evidence: Evidence) -> None:
    files = {(int(f["dev"]), int(f["ino"])): f for f in evidence.rows(FILE)}
    truth = evidence.truth
    for file in (*truth["writers"]["files"].values(), truth["sync_one"]["file"]):
        row = files[file["dev"], file["ino"]]
        assert row["name"].decode() == file["name"]
        assert row["parent"].decode() == (file["parent"] if file["parent"] == "data" else "/")
        assert row["flags"] == 0


def test_metadata_belongs_to_the_block_device(evidence: Evidence) -> None:
    dev = evidence.truth["sync_one"]["file"]["dev"]
    files = evidence.rows(FILE)
    device = files[(files["flags"] == FileFlag.BLOCK_DEVICE) & (files["dev"] == dev)]
    assert len(device)
    caused = evidence.rows(IO_CAUSE)
    mine = caused[(caused["ino"] == device[0]["ino"]) & (caused["dev"] == dev)]
    assert mine["n_pages"].sum() > 0


def test_a_wait_for_written_pages_names_the_file(evidence: Evidence) -> None:
    file = evidence.truth["sync_one"]["file"]
    rows = evidence.sleeps("fsyncer", WaitReason.PAGE_WRITEBACK)
    assert len(rows)
    assert {(int(row["dev"]), int(row["ino"])) for row in rows} == {(file["dev"], file["ino"])}
    assert rows["object"].all()


def test_a_page_fault_that_waits_names_the_file(evidence: Evidence) -> None:
    file = evidence.truth["read_cold"]["file"]
    rows = evidence.sleeps("toucher", WaitReason.NONE)
    waits = rows[rows["waker_io"] > 0]
    assert len(waits)
    assert {(int(row["dev"]), int(row["ino"])) for row in waits} == {(file["dev"], file["ino"])}


def test_a_wait_for_a_buffer_names_the_block_that_is_written(evidence: Evidence) -> None:
    rows = evidence.sleeps(JOURNAL, WaitReason.BUFFER_LOCK)
    waits = rows[rows["waker_io"] > 0]
    assert len(waits) > 10
    ios = {int(io["id"]): io for io in evidence.rows(IO)}
    for row in waits:
        io = ios[int(row["waker_io"])]
        first = int(io["sector"]) * 512
        assert int(row["dev"]) == int(io["dev"])
        assert first <= int(row["object"]) * 4096 < first + int(io["bytes"])


def test_a_wait_for_a_buffer_in_the_journal_names_the_journal_thread(evidence: Evidence) -> None:
    rows = evidence.sleeps("creator", WaitReason.BUFFER_SHADOW)
    assert len(rows)
    assert {evidence.names[int(tid)] for tid in rows["owner_tid"]} == {JOURNAL}


@pytest.mark.parametrize(
    ("name", "reason", "is_guess"),
    [
        ("mutex", WaitReason.FUTEX, True),
        ("pi", WaitReason.FUTEX, False),
        ("shared", WaitReason.FUTEX, True),
        ("semaphore", WaitReason.SYSV_SEM, True),
        ("inner", WaitReason.FUTEX, True),
    ],
)
def test_a_wait_for_a_lock_of_user_memory_names_the_holder(
    evidence: Evidence, name: str, reason: WaitReason, is_guess: bool
) -> None:
    thread = "sem" if name == "semaphore" else name
    rows = evidence.sleeps(f"{thread}-waiter", reason)
    # Python has mutexes of its own, which its main thread may hold when a thread starts or ends.
    rows = rows[rows["object"] == evidence.truth[name]["object"]]
    owners = {evidence.names.get(int(tid), "") for tid in rows["owner_tid"]}
    (row,) = rows[np.isin(rows["owner_tid"], list(evidence.tids[f"{thread}-holder"]))]
    assert owners <= {"", f"{thread}-holder"}
    assert bool(row["flags"] & SleepFlag.OWNER_GUESSED) is is_guess


@pytest.mark.parametrize("name", ["bare", "own-bare"])
def test_a_word_that_looks_like_an_owner_is_none_without_a_mutex(
    evidence: Evidence, name: str
) -> None:
    rows = evidence.sleeps(f"{name}-waiter", WaitReason.FUTEX)
    (row,) = rows[rows["object"] == evidence.truth[name]["object"]]
    assert row["owner_tid"] == 0


def test_every_pause_of_a_writer_is_recorded_as_ftrace_saw_it(evidence: Evidence) -> None:
    pattern = re.compile(
        r"-(\d+)\s.* balance_dirty_pages: .* limit=(\d+) setpoint=(\d+) dirty=(\d+) "
        r"bdi_setpoint=(\d+) bdi_dirty=(\d+) dirty_ratelimit=(\d+) task_ratelimit=(\d+) "
        r"dirtied=(\d+) .* pause=(\d+) .* cgroup_ino=(\d+)"
    )
    columns = (
        *("tid", "limit_pages", "setpoint_pages", "dirty_pages", "bdi_setpoint_pages"),
        *("bdi_dirty_pages", "dirty_ratelimit_kibps", "task_ratelimit_kibps", "dirtied_pages"),
        *("pause_ms", "cgroup_id"),
    )
    seen = [tuple(map(int, numbers)) for numbers in pattern.findall(evidence.witness)]
    rows = evidence.rows(THROTTLE)
    recorded = [tuple(int(row[column]) for column in columns) for row in rows]
    assert len(seen) > 3
    assert recorded == seen
    assert {evidence.names[int(tid)] for tid in rows["tid"]} == {"throttled"}
    pauses = evidence.sleeps("throttled", WaitReason.DIRTY_THROTTLE)
    assert len(pauses) == len(rows)


def test_handles_add_up_to_what_the_journal_counted(evidence: Evidence) -> None:
    stats = re.compile(r"jbd2_run_stats: dev (\d+),(\d+) tid (\d+) .* handle_count (\d+)")
    counted = {
        (int(major) << 20 | int(minor), int(transaction)): int(n)
        for major, minor, transaction, n in stats.findall(evidence.witness)
    }
    handles = evidence.rows(JOURNAL_HANDLE)
    commits = evidence.rows(JOURNAL_COMMIT)
    assert len(commits) > 10
    for commit in commits[1:]:  # the first may have begun before the recording
        key = int(commit["dev"]), int(commit["transaction"])
        mine = handles[(handles["dev"] == key[0]) & (handles["transaction"] == key[1])]
        assert mine["n_handles"].sum() == counted[key] == int(commit["n_handles"])
        assert (mine["longest_ns"] <= mine["held_ns"]).all()
        assert (mine["held_ns"] <= (mine["end_ns"] - mine["ts"]) * mine["n_handles"]).all()
    holders = {evidence.names.get(int(tid), "") for tid in handles["tid"]}
    assert {"fsyncer", "creator", "committer"} <= holders


def test_blocks_of_a_task_are_those_the_journal_took_credits_for(evidence: Evidence) -> None:
    stats = re.compile(
        r"-(\d+)\s.* jbd2_handle_stats: dev (\d+),(\d+) tid (\d+) .* dirtied_blocks (\d+)"
    )
    counted: Counter[tuple[int, ...]] = Counter()
    for tid, major, minor, transaction, n in stats.findall(evidence.witness):
        counted[int(major) << 20 | int(minor), int(transaction), int(tid)] += int(n)
    blocks, commits = evidence.rows(JOURNAL_BLOCK), evidence.rows(JOURNAL_COMMIT)
    of_commit = {(int(c["dev"]), int(c["transaction"])): c for c in commits[1:]}
    seen = 0
    for row in blocks:
        key = int(row["dev"]), int(row["transaction"])
        if key in of_commit and row["tid"]:
            assert row["n_blocks"] == counted[*key, int(row["tid"])]
            seen += 1
    assert seen > 10
    for key, commit in of_commit.items():
        mine = blocks[(blocks["dev"] == key[0]) & (blocks["transaction"] == key[1])]
        assert mine["n_blocks"].sum() <= commit["n_blocks_logged"]
