"""Folded stacks and speedscope: every nanosecond of blocked time, under the right frames."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.export.folded import lines, write_folded
from rcp.analyzer.export.speedscope import document
from rcp.analyzer.export.stacks import (
    Stack,
    blocked,
    own_frames,
    timeline,
    wait_function,
)
from rcp.analyzer.loading.load import load_in_memory
from rcp.analyzer.selection import Wanted, select
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason
from rcp.probes.contract.spool import unpack

Load = Callable[[Synth], Store]

BLOCKED_NS = "SELECT sum(dur)::BIGINT FROM segment WHERE NOT (depth = 0 AND kind = 'cpu')"


def example(scale: int = 1) -> Synth:
    """A commit that waits for another's io; times 0 to 100, multiplied by ``scale``."""
    synth = Synth([("foreground", "comm:writer"), ("background", "comm:checkpointer")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=5, kthread=True)
    bg = synth.task("checkpointer", tid=20)
    for task in (fg, jbd2, bg):
        synth.first_seen(task, 1)
    synth.request(fg, 1000 * scale, 1100 * scale)
    commit = ["bpf_prog_1", "__schedule", "schedule", "jbd2_log_wait_commit", "ext4_sync_file"]
    synth.sleep(
        fg,
        *(t * scale for t in (1010, 1090, 1092)),
        waker=jbd2,
        reason=WaitReason.JOURNAL_COMMIT,
        stack=commit,
    )
    io = synth.io(bg, 1030 * scale, 1084 * scale, issued=1040 * scale)
    synth.sleep(
        jbd2,
        1020 * scale,
        1085 * scale,
        io=io,
        stack=["schedule", "folio_wait_writeback", "kthread"],
    )
    return synth


COMMIT = ("fsync", "journal_commit (jbd2/nvme*n*-*)")
WRITEBACK = (*COMMIT, "page_writeback → io by checkpointer")
SYNC, FLUSH = ("ext4_sync_file", "jbd2_log_wait_commit"), ("kthread", "folio_wait_writeback")


def test_blocked_time_is_told_by_chain_and_stack(load: Load) -> None:
    assert sorted(blocked(load(example()), [1])) == [
        ("fsync", (*COMMIT, "cpu (jbd2/nvme*n*-*)", *SYNC), 15),
        ("fsync", (*WRITEBACK, "cpu (checkpointer)", *FLUSH), 10),
        ("fsync", (*WRITEBACK, "device (write by checkpointer)", *FLUSH), 45),
        ("fsync", (*WRITEBACK, "queue (write by checkpointer)", *FLUSH), 10),
        ("fsync", ("fsync", "runqueue (writer)"), 2),
    ]


def test_a_timeline_is_all_of_a_request_in_order(load: Load) -> None:
    stacks = timeline(load(example()), 1)
    assert [(stack.frames[-1], stack.dur_ns) for stack in stacks] == [
        ("cpu (writer)", 10),
        ("jbd2_log_wait_commit", 10),
        ("folio_wait_writeback", 10),
        ("folio_wait_writeback", 10),
        ("folio_wait_writeback", 45),
        ("jbd2_log_wait_commit", 5),
        ("runqueue (writer)", 2),
        ("cpu (writer)", 8),
    ]


def test_folded_lines_are_in_microseconds(load: Load, tmp_path: Path) -> None:
    store = load(example(scale=1000))
    with (tmp_path / "out").open("wb") as out:
        write_folded(store, select(store), out)
    assert sorted((tmp_path / "out").read_text().splitlines()) == sorted(
        f"{';'.join(frames)} {ns}" for _, frames, ns in blocked(load(example()), [1])
    )


def test_rounding_loses_no_time() -> None:
    thirds = [Stack("r", ("r", str(at)), 333) for at in range(9)]
    assert list(lines(thirds)) == ["r;3 1", "r;6 1"]  # 9 times 333 ns are 2.997 µs


def test_a_frame_holds_no_separator() -> None:
    assert list(lines([Stack("r", ("a;b\nc", "d"), 1000)])) == ["a:b\\nc;d 1"]


def test_the_scheduler_is_no_part_of_a_stack() -> None:
    assert own_frames(["bpf_x", "__schedule", "schedule", "inner", "outer"]) == ("outer", "inner")
    assert own_frames(["inner", "outer"]) == ("outer", "inner")
    assert own_frames([]) == ()


def test_a_wait_is_in_the_innermost_function_that_is_not_the_schedulers() -> None:
    assert wait_function(["bpf_x", "schedule", "io_schedule", "wait", "outer"]) == "wait"
    assert wait_function(["schedule"]) is None


def test_speedscope_profiles_refer_to_their_frames(load: Load) -> None:
    store = load(example())
    exported = document(store, select(store))
    names = [frame["name"] for frame in exported["shared"]["frames"]]
    assert len(set(names)) == len(names)
    blocked_time, request = exported["profiles"]
    assert (blocked_time["name"], blocked_time["endValue"]) == ("fsync: blocked", 82)
    assert (request["name"], request["endValue"]) == ("fsync 1: 100 ns", 100)
    for profile in exported["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"])
        assert sum(profile["weights"]) == profile["endValue"]
    first = [names[place] for place in request["samples"][0]]
    assert first == ["fsync", "cpu (writer)"]


def test_nothing_recorded_is_an_empty_document(load: Load) -> None:
    store = load(Synth())
    assert document(store, select(store))["profiles"] == []


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    packed = Path(__file__).parents[3] / "fixtures/recordings/wal-vs-checkpoint.spool.tar.xz"
    with load_in_memory(unpack(packed, tmp_path_factory.mktemp("real"))) as store:
        yield store


def test_a_real_recordings_totals_are_those_of_sql(real: Store, tmp_path: Path) -> None:
    everything = [row[0] for row in real.query("SELECT request_id FROM request")]
    ((total,),) = real.query(BLOCKED_NS)
    stacks = blocked(real, everything)
    assert sum(stack.dur_ns for stack in stacks) == total
    us = sum(int(line.rpartition(" ")[2]) for line in lines(stacks))
    assert us == total // 1000


def test_a_real_document_holds_what_sql_counts(real: Store) -> None:
    exported = json.loads(json.dumps(document(real, select(real, Wanted(slowest=3)))))
    slowest = real.query(
        "SELECT dur FROM request JOIN task USING (utid) WHERE role = 'foreground'"
        " ORDER BY dur DESC LIMIT 3"
    )
    assert [profile["endValue"] for profile in exported["profiles"][1:]] == [
        dur for (dur,) in slowest
    ]
