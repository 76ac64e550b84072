"""Each wait is named for what the kernel's own stack of the sleeper says, and io.max's ios too."""

import json
import mmap
import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from rcp.analyzer.arrays.reasons import REASONS, function_name, reason_codes
from rcp.analyzer.arrays.tasks import ROOT_CGROUP
from rcp.analyzer.arrays.trace import FUA, OP_FLUSH, OP_WRITE, PREFLUSH
from rcp.probes.contract.events import (
    CGROUP,
    CGROUP_LIMIT,
    INTERRUPT,
    IO,
    PAGE_DROP,
    READ_AGAIN,
    REFAULT,
    SLEEP,
    TASK,
    IoFlag,
    LimitedResource,
    SleepFlag,
    WaitReason,
)
from rcp.probes.contract.spool import open_spool

pytestmark = pytest.mark.lab
Rows = npt.NDArray[np.void]
MS = 1_000_000


MESSAGES = (
    SleepFlag.HAS_SENT
    | SleepFlag.RECEIVED
    | SleepFlag.RECEIVED_SEVERAL
    | SleepFlag.RECEIVED_BETWEEN
)


class Waits:
    """The recording of guest_waits.py, and what that saw in /proc and ftrace."""

    def __init__(self, folder: Path) -> None:
        self.spool = open_spool(folder / "causes.spool")
        self.truth: dict[str, Any] = json.loads((folder / "waits.json").read_text())
        self.sleeps: Rows = self.spool.records(SLEEP)
        self.ios: Rows = self.spool.records(IO)
        self.names = {int(t["tid"]): t["comm"].decode() for t in self.spool.records(TASK)}

    def sleep_at(self, name: str) -> Rows:
        """Return the one sleep of the task of that name that was observed."""
        truth, rows = self.truth[name], self.sleeps
        mine = rows[(rows["tid"] == truth["pid"]) & (rows["ts"] <= truth["at_ns"])]
        found: Rows = mine[mine["woken_ns"] > truth["at_ns"]]
        assert len(found) == 1, (name, truth)
        return found

    def ios_of(self, name: str) -> Rows:
        """Return the ios of the task of that name on the disk that io.max limits."""
        tids = [tid for tid, comm in self.names.items() if comm == name]
        on_disk = self.ios["dev"] == self.truth["io.max"]["dev"]
        ios: Rows = self.ios[on_disk & np.isin(self.ios["submitter_tid"], tids)]
        written: Rows = ios[ios["cmd_flags"] & 0xFF == 1]
        return written


@pytest.fixture(scope="module")
def waits(recorder_lab: Path) -> Waits:
    return Waits(recorder_lab)


@pytest.mark.parametrize(
    ("name", "function", "reason"),
    [
        ("timer", "hrtimer_nanosleep", "timer"),
        ("pipe", "(anon_)?pipe_read", "pipe"),
        ("poll", "do_sys_poll", "poll"),
        ("epoll", "do_epoll_wait", "poll"),
        ("select", "do_select", "poll"),
        ("unix", "unix_stream_read_generic", "network"),
        ("tcp", "tcp_recvmsg", "network"),
        ("child", "do_wait", "condition"),
        ("tag", "blk_mq_get_tag", "admission_tag"),
        ("iocost", "ioc_rqos_throttle", "admission_slot"),
        ("page", "filemap_get_pages", "page_lock"),
        ("mutex", "fdget_pos", "lock"),
        ("flock", "locks_lock_inode_wait", "file_lock"),
        ("lockf", "fcntl_setlk", "file_lock"),
        ("polled-flock", "hrtimer_nanosleep", "file_lock"),
        ("polled-lockf", "hrtimer_nanosleep", "file_lock"),
        ("own-lock", "hrtimer_nanosleep", "timer"),
        ("other-lock", "hrtimer_nanosleep", "timer"),
        ("many-locks", "hrtimer_nanosleep", "timer"),
        ("frozen", "percpu_rwsem_wait", "lock"),
        ("commit", "jbd2_log_wait_commit", "journal_commit"),
        ("fast-commit", "jbd2_fc_begin_commit", "journal_commit"),
        ("space", "__jbd2_log_wait_for_space", "journal_space"),
    ],
)
def test_a_wait_is_named_for_where_the_kernel_says_it_sleeps(
    waits: Waits, name: str, function: str, reason: str
) -> None:
    kernels = waits.truth[name]["stack"]
    assert any(re.fullmatch(function, frame) for frame in kernels), kernels
    sleep = waits.sleep_at(name)
    codes = reason_codes(sleep["reason"], sleep["stack_id"], waits.spool.stacks())
    recorded = [function_name(f) for f in waits.spool.stacks()[int(sleep["stack_id"][0])]]
    assert REASONS[codes[0]] == reason, recorded
    if sleep["reason"][0] == WaitReason.NONE:
        assert any(re.fullmatch(function, frame) for frame in recorded), recorded


@pytest.mark.parametrize("name", ["mutex", "frozen"])
def test_a_kernel_lock_names_its_holder(waits: Waits, name: str) -> None:
    assert waits.sleep_at(name)["owner_tid"].tolist() == [waits.truth[name]["owner"]]


def test_a_file_lock_names_its_file_and_is_one_of_two_kinds(waits: Waits) -> None:
    """flock locks a whole file, lockf a range: who has one does not keep others from the other."""
    sleeps = [waits.sleep_at(name) for name in ("flock", "lockf")]
    assert [int(sleep["reason"][0]) for sleep in sleeps] == [WaitReason.FILE_LOCK] * 2
    inos = [waits.truth[name]["ino"] for name in ("flock", "lockf")]
    assert [int(sleep["ino"][0]) for sleep in sleeps] == inos
    whole, part = (int(sleep["object"][0]) for sleep in sleeps)
    assert part - whole == 1


def test_a_lock_that_a_program_polls_for_names_its_file_and_its_owner(waits: Waits) -> None:
    for name in ("flock", "lockf"):
        sleep, truth = waits.sleep_at(f"polled-{name}"), waits.truth[f"polled-{name}"]
        assert sleep["object"].tolist() == waits.sleep_at(name)["object"].tolist()
        assert sleep["ino"].tolist() == [truth["ino"]]
        assert sleep["owner_tid"].tolist() == [truth["owner"]]
    (timer,) = waits.sleep_at("timer")
    assert (int(timer["object"]), int(timer["owner_tid"])) == (0, 0)


def test_a_journals_record_has_a_flush_before_and_after_it_on_a_disk_without_fua(
    waits: Waits,
) -> None:
    """ftrace sees with which flags jbd2 queued each bio; the kernel takes them off later."""
    truth = waits.truth["no FUA"]
    line = re.compile(r" jbd2/\S+ .* (\d+)\.(\d{6}): block_bio_queue: \S+ FWF\w* ")
    queued_ns = [int(s) * 1000 * MS + int(us) * 1000 for s, us in line.findall(truth["witness"])]
    assert len(queued_ns) > 2
    ios = waits.ios[waits.ios["dev"] == truth["dev"]]
    op = ios["cmd_flags"] & 0xFF
    flushes, writes = ios[op == OP_FLUSH], ios[op == OP_WRITE]
    for ns in queued_ns:
        near = np.abs(writes["queued_ns"].astype(np.int64) - ns) < MS // 20
        (record,) = writes[near & (writes["cmd_flags"] & PREFLUSH > 0)]
        assert not record["cmd_flags"] & FUA
        before = flushes[flushes["completed_ns"] <= record["issued_ns"]]
        after = flushes[flushes["queued_ns"] >= record["completed_ns"]]
        assert before["queued_ns"].max() >= record["queued_ns"]
        assert after["queued_ns"].min() < record["completed_ns"] + MS


@pytest.mark.parametrize("name", ["tcp", "unix", "pipe"])
def test_who_sends_a_message_has_woken_its_reader(waits: Waits, name: str) -> None:
    """A packet over the loopback is taken in by a softirq, on top of the sender."""
    (row,) = waits.sleep_at(name)
    assert row["waker_tid"] == waits.truth["sender"]["pid"]
    assert not row["flags"] & (SleepFlag.WOKEN_BY_SOFTIRQ | SleepFlag.WOKEN_BY_HARDIRQ)


def test_ios_that_io_max_holds_back_are_their_writers_from_when_it_wrote(waits: Waits) -> None:
    """ftrace sees only a kernel worker queue them, after the time they were held."""
    truth = waits.truth["io.max"]
    queued = re.compile(r"(\S+)-(\d+)\s+\[\d+\] \S+\s+(\d+)\.(\d{6}): block_bio_queue: \S+ W")
    seen = [
        (comm, int(seconds) * 1000 * MS + int(micros) * 1000)
        for comm, _, seconds, micros in queued.findall(truth["witness"])
    ]
    late = [ns for comm, ns in seen if comm.startswith("kworker")]
    held, free = waits.ios_of("held-back"), waits.ios_of("let-through")
    assert len(held) == len(free) == truth["n_ios"]
    assert not (free["flags"] & IoFlag.THROTTLED).any()
    throttled = held[held["flags"] & IoFlag.THROTTLED > 0]
    assert len(throttled) == len(late) > 2
    for io, let_go_ns in zip(throttled, late, strict=True):
        assert int(io["queued_ns"]) < let_go_ns - 5 * MS
        assert abs(int(io["got_ns"]) - let_go_ns) < MS


def test_waits_for_the_next_period_of_cpu_max_are_told(waits: Waits) -> None:
    """cpu.stat counts how often and how long the group could not run."""
    stat, rows = waits.truth["cpu.max"], waits.sleeps
    told = rows[rows["flags"] & SleepFlag.CPU_MAX > 0]
    assert {waits.names[int(tid)] for tid in told["tid"]} == {"limited"}
    # The first is not told from older ones, and the task may have ended within the last.
    assert stat["nr_throttled"] > 5
    assert stat["nr_throttled"] - 2 <= len(told) <= stat["nr_throttled"]
    mean_ns = float(np.mean(told["run_ns"] - told["woken_ns"]))
    counted_ns = 1000 * stat["throttled_usec"] / stat["nr_throttled"]
    assert mean_ns == pytest.approx(counted_ns, rel=0.2)


def test_pages_that_are_read_again_after_they_were_evicted_are_told(waits: Waits) -> None:
    """memory.stat counts them, those of the file system's own blocks too."""
    stat, rows = waits.truth["memory"], waits.spool.records(REFAULT)
    limited = rows[rows["cgroup_id"] == stat["id"]]
    assert {waits.names[int(tid)] for tid in limited["tid"]} == {"reader"}
    assert set(limited["limit_pages"].tolist()) == {stat["limit_bytes"] // 4096}
    counted = stat["workingset_refault_file"]
    assert counted > 1000
    assert int(limited["n_pages"].sum()) == pytest.approx(counted, rel=0.02)
    queued = {(int(io["submitter_tid"]), int(io["queued_ns"])) for io in waits.ios}
    of_an_io = [(int(row["tid"]), int(row["ts"])) in queued for row in limited]
    assert np.mean(of_an_io) > 0.9


def test_ios_that_write_memory_to_swap_space_are_told(waits: Waits) -> None:
    """vmstat counts the pages; the task needed the room itself."""
    truth, ios = waits.truth["swapped"], waits.ios
    out = ios[ios["flags"] & IoFlag.SWAP_OUT > 0]
    assert set(out["dev"].tolist()) == {truth["dev"]}
    assert int(out["bytes"].sum()) == truth["n_pages"] * mmap.PAGESIZE > 0
    assert {waits.names[int(tid)] for tid in out["submitter_tid"]} == {"swaps"}
    assert (out["cmd_flags"] & 0xFF == OP_WRITE).all()


def test_pages_that_are_dropped_are_told_and_reads_of_that_file_afterwards(waits: Waits) -> None:
    """mincore() looked before and after; of the pages read then, two were dropped."""
    truth = waits.truth["dropped"]
    gone = sorted(set(truth["before"]) - set(truth["after"]))
    assert gone == list(range(16, 32))
    drops = [row for row in waits.spool.records(PAGE_DROP) if waits.names[row["tid"]] == "drops"]
    ranges = [(row["ino"], row["first_page"], row["last_page"], row["n_pages"]) for row in drops]
    assert ranges == [(truth["ino"], gone[0], gone[-1], len(gone))]
    reads = waits.spool.records(READ_AGAIN)
    again = [row for row in reads if waits.names[row["tid"]] == "reads-again"]
    assert [(row["ino"], row["first_page"]) for row in again] == [
        (truth["ino"], p) for p in (20, 31)
    ]
    ios = {(int(io["submitter_tid"]), int(io["queued_ns"])) for io in waits.ios}
    assert {(int(row["tid"]), int(row["ts"])) for row in again} <= ios
    assert {row["dev"] for row in (*drops, *again)} == {drops[0]["dev"]}


def test_cgroups_are_recorded_with_those_above_and_their_limits(waits: Waits) -> None:
    """The task that computes is below the group with the limit; the one that writes is in it."""
    cpu, io = waits.truth["cpu.max"], waits.truth["io.max"]
    parents = {int(row["cgroup_id"]): row for row in waits.spool.records(CGROUP)}
    below, group = parents[cpu["below"]], parents[cpu["cgroup"]]
    assert (int(below["parent_id"]), int(group["parent_id"])) == (cpu["cgroup"], ROOT_CGROUP)
    assert below["name"].decode() == f"{group['name'].decode()}below"
    found = {
        (int(row["cgroup_id"]), int(row["resource"]), int(row["dev"])): row
        for row in waits.spool.records(CGROUP_LIMIT)
        if int(row["cgroup_id"]) in (cpu["cgroup"], cpu["below"])
    }
    values = {key: (int(row["amount"]), int(row["period_us"])) for key, row in found.items()}
    assert values == {
        (cpu["cgroup"], LimitedResource.CPU, 0): (5_000_000, 50_000),
        (io["cgroup"], LimitedResource.WRITE_IOS, io["dev"]): (io["write_ios"], 1_000_000),
    }


@pytest.mark.parametrize(
    ("name", "messages"),
    [
        ("unix", 0),
        ("tcp", 0),
        ("pipe", 0),
        ("asks-unix", SleepFlag.HAS_SENT),
        ("asks-tcp", SleepFlag.HAS_SENT),
        ("asks-pipe-tcp", SleepFlag.HAS_SENT),
        ("slept-unix", 0),
        ("slept-tcp", 0),
        ("takes-one", SleepFlag.RECEIVED),
        ("takes-one-pipe", SleepFlag.RECEIVED),
        ("takes-two", SleepFlag.RECEIVED | SleepFlag.RECEIVED_SEVERAL),
        ("takes-answers", SleepFlag.HAS_SENT),
        ("takes-between", SleepFlag.HAS_SENT | SleepFlag.RECEIVED_BETWEEN),
        ("takes-again", SleepFlag.HAS_SENT | SleepFlag.RECEIVED),
        ("peeks", 0),
    ],
)
def test_who_has_sent_or_taken_a_message_before_it_waits(
    waits: Waits, name: str, messages: int
) -> None:
    """Another sleep in between is the end of that: it may have waited there for the answer."""
    flags = int(waits.sleep_at(name)["flags"][0])
    assert flags & MESSAGES == messages


@pytest.mark.parametrize("kind", ["unix", "tcp", "tcp6", "mapped", "pipe", "dgram"])
def test_both_ends_know_the_queue_of_a_message(waits: Waits, kind: str) -> None:
    sent, got = (waits.sleep_at(f"{does}-{kind}")[0] for does in ("sends", "gets"))
    assert sent["sent_to"] > 1
    assert got["received_from"] == sent["sent_to"]
    assert got["sender_tid"] == waits.truth[f"sends-{kind}"]["pid"]
    assert sent["received_from"] == got["sent_to"] == 0


@pytest.mark.parametrize("kind", ["unix", "tcp", "tcp6", "mapped"])
def test_the_queue_of_answers_differs_in_the_lowest_bit(waits: Waits, kind: str) -> None:
    sent, answer = (waits.sleep_at(f"{does}-{kind}")[0] for does in ("sends", "answers"))
    assert answer["sent_to"] == sent["sent_to"] ^ 1


def test_queues_differ_and_several_have_no_number(waits: Waits) -> None:
    kinds = ("unix", "tcp", "tcp6", "mapped", "pipe", "dgram")
    assert len({int(waits.sleep_at(f"sends-{kind}")["sent_to"][0]) for kind in kinds}) == len(kinds)
    assert waits.sleep_at("takes-two")["received_from"][0] == 1
    assert waits.sleep_at("takes-one")["sent_before"][0] == 0
    both = waits.sleep_at("sends-both")[0]
    assert both["sent_before"] == waits.sleep_at("sends-unix")["sent_to"][0]
    assert both["sent_to"] == waits.sleep_at("sends-tcp")["sent_to"][0]


@pytest.mark.parametrize(("n_readers", "is_one"), [(1, True), (2, False)])
def test_a_lock_that_one_reader_has_is_told_from_one_of_several(
    waits: Waits, n_readers: int, is_one: bool
) -> None:
    flags = int(waits.sleep_at(f"of-{n_readers}-readers")["flags"][0])
    assert flags & SleepFlag.OWNER_GUESSED
    assert bool(flags & SleepFlag.ONE_READER) == is_one


def test_interrupts_on_an_idle_cpu_have_woken_who_gets_it(waits: Waits) -> None:
    """Whoever waits for a page of many is woken when its page is done, before the others are."""
    rows, sleeps = waits.spool.records(INTERRUPT), waits.sleeps
    idle = rows[rows["tid"] == 0]
    got_it = 0
    for row in idle:
        of_io = sleeps[sleeps["waker_io"] == row["io"]]
        assert ((of_io["woken_ns"] >= row["ts"]) & (of_io["woken_ns"] <= row["end_ns"])).any()
        same = of_io[of_io["cpu"] == row["cpu"]]
        assert (same["run_ns"] >= row["end_ns"]).all()
        got_it += len(same)
    assert got_it


def test_interrupts_are_when_the_task_on_the_cpu_saw_the_clock_jump(waits: Waits) -> None:
    """It looks at the clock about once a microsecond, and nothing else takes it off the CPU."""
    truth, rows = waits.truth["interrupts"], waits.spool.records(INTERRUPT)
    tid, spans = truth["tid"], np.array(truth["spans"])
    rows = rows[(rows["tid"] == tid) & (rows["ts"] >= spans[0, 0])]
    span = np.searchsorted(spans[:, 0], rows["ts"], "right") - 1
    rows = rows[rows["end_ns"] <= spans[span, 1]]
    gaps = np.array(truth["gaps"])
    gap = np.searchsorted(gaps[:, 0], rows["ts"], "right") - 1
    assert (gaps[gap, 1] >= rows["end_ns"]).all()
    ended = np.zeros(len(gaps), np.int64)
    np.add.at(ended, gap, (rows["end_ns"] - rows["ts"]).astype(np.int64))
    took = gaps[:, 1] - gaps[:, 0]
    # The rest of a jump is the way into the interrupt and out of it, and the driver.
    assert 0.5 < ended.sum() / took[ended > 0].sum() < 1
    mine = waits.sleeps[waits.sleeps["tid"] == tid]
    off = [bool(((mine["ts"] < hi) & (mine["run_ns"] > lo)).any()) for lo, hi in gaps]
    assert (ended > 0)[(took > 100_000) & ~np.array(off)].all()
    submitters = {int(io["id"]): int(io["submitter_tid"]) for io in waits.ios}
    names = Counter(waits.names[submitters[int(io)]] for io in rows["io"])
    assert names.pop("sends") > len(spans) // 2  # one bio of it ends in each
    # The kernel may write something back meanwhile.
    assert [name for name in names if not name.startswith("kworker/")] == []
