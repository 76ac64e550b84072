"""A page that is read again was pushed out by who filled the memory since it was read last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.analyzer.tests.blame.memory.memory import (
    LIMITED,
    MIB,
    MS,
    PREAD,
    READ,
    WRITE,
    Memory,
    blamed,
)
from rcp.analyzer.tests.whatif.worlds import ns, predicted

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load


def test_who_filled_the_memory_since_the_page_was_read_is_to_blame() -> None:
    memory = Memory()
    memory.fill("backup-old", 50 * MIB)
    memory.load()
    memory.fill("backup", MIB)
    assert blamed(memory.read_again()) == [("refault", "backup", MS)]


def test_a_first_read_is_nobodys_doing() -> None:
    memory = Memory()
    memory.fill("backup", MIB)
    assert memory.read_again(n_pages=0) == []


def test_the_chain_ends_at_who_filled_the_memory(ask: Ask) -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    memory.ask()
    rows = ask(memory, "SELECT kind, chain FROM inversion")
    assert rows == [("refault", "syscall_17 → unknown → io by client → refault behind backup")]


def test_each_is_blamed_for_its_part_of_what_came_in() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    memory.fill("backup-2", 3 * MIB)
    assert blamed(memory.read_again()) == [
        ("refault", "backup-2", 750_000),
        ("refault", "backup", 250_000),
    ]


def test_what_mostly_the_client_itself_brought_in_is_not_the_backups_doing() -> None:
    memory = Memory()
    memory.load()
    memory.scan(3 * MIB)
    memory.fill("backup", MIB)
    assert memory.read_again() == []


def test_direct_reads_fill_no_memory() -> None:
    memory = Memory()
    memory.load()
    tid = memory.task("backup", cgroup_id=LIMITED)
    memory.io(tid, memory.now, memory.now + MS, op=READ, size=MIB, sector=9999)
    memory.now += 2 * MS
    assert memory.read_again() == []


def test_on_a_disk_that_filled_no_memory_nobody_is_to_blame() -> None:
    assert Memory().read_again() == []


@pytest.mark.parametrize(("step", "guilty"), [(0, False), (2048, True)])
def test_pages_that_are_written_fill_memory_once(step: int, guilty: bool) -> None:
    memory = Memory()
    memory.load()
    memory.scan(2 * MIB)
    for turn in range(8):
        memory.fill("backup", MIB, op=WRITE, sector=500_000 + turn * step)
    assert blamed(memory.read_again()) == ([("refault", "backup", MS)] if guilty else [])


def test_what_was_read_before_it_is_written_was_there() -> None:
    memory = Memory()
    memory.load()
    memory.scan(2 * MIB)
    for turn in range(8):
        memory.fill("client-too", MIB // 4, sector=500_000 + turn * 512)
        memory.fill("backup", MIB // 4, op=WRITE, sector=500_000 + turn * 512)
    assert memory.read_again() == []


@pytest.mark.parametrize(("n_pages", "blamed_ns"), [(1, 0), (3, MS * 3 // 4), (4, MS)])
def test_of_an_io_the_part_that_was_in_memory_counts_if_it_is_most(
    n_pages: int, blamed_ns: int
) -> None:
    memory = Memory()
    memory.load(size=4 * 4096)
    memory.fill("backup", MIB)
    expected = [("refault", "backup", blamed_ns)] if blamed_ns else []
    assert blamed(memory.read_again(n_pages=n_pages, size=4 * 4096)) == expected


def test_an_io_with_few_such_pages_may_still_wait_behind_others() -> None:
    memory = Memory()
    memory.load()
    backup, begin = memory.fill("backup", MIB), memory.now
    memory.io(backup, begin - 1000, begin + MS // 2, op=READ, size=MIB, sector=7)
    times = {"inserted": begin, "issued": begin + MS // 2}
    memory.ask(n_pages=1, size=16 * 4096, **times)
    assert ("queue", "backup") in [(row.kind, row.culprit) for row in found(memory)]


@pytest.mark.parametrize("n_parts", [1, 4])
def test_the_parts_of_a_large_io_share_its_pages(n_parts: int) -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    begin, pages = memory.now, 32
    for part in range(n_parts):
        size = pages * 4096 // n_parts
        sector = 800 + part * size // 512
        end = begin + (part + 1) * MS // n_parts
        io = memory.io(memory.client, begin, end, op=READ, sector=sector, size=size, ino=5)
    memory.refault(memory.client, begin, n_pages=pages)
    memory.request(memory.client, begin, begin + MS, nr=PREAD)
    memory.sleep(memory.client, begin, begin + MS, io=io)
    assert blamed(found(memory)) == [("refault", "backup", MS)]


def test_below_a_stacked_device_the_io_is_of_who_queued_it_above() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    begin, worker = memory.now, memory.task("kcryptd", kthread=True)
    memory.refault(memory.client, begin)
    io = memory.io(worker, begin + 10, begin + MS, op=READ, sector=800, ino=5)
    memory.origin(io, memory.client, begin)
    memory.request(memory.client, begin, begin + MS, nr=PREAD)
    memory.sleep(memory.client, begin, begin + MS, io=io)
    ((kind, culprit, dur),) = blamed(found(memory))
    assert (kind, culprit) == ("refault", "backup")
    assert dur == pytest.approx(MS, abs=20)


def test_what_a_flusher_writes_for_the_client_is_the_clients() -> None:
    memory = Memory()
    flusher = memory.task("kworker/u4:1", kthread=True, cgroup_id=1)
    memory.load()
    written = memory.io(flusher, memory.now, memory.now + MS, size=30 * MIB, sector=99999, ino=8)
    memory.cause(written, memory.client, n_pages=30 * MIB // 4096)
    memory.now += 2 * MS
    memory.fill("backup", MIB)
    assert memory.read_again(cgroup_id=LIMITED) == []


def test_of_a_page_not_used_while_recorded_it_is_a_guess() -> None:
    memory = Memory()
    memory.fill("backup", MIB)
    assert [row.confidence for row in memory.read_again()] == [pytest.approx(0.5)]


def test_a_direct_read_of_the_page_does_not_bring_it_in() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    tid = memory.task("backup-direct")
    memory.io(tid, memory.now, memory.now + MS, op=READ, sector=800)
    memory.now += 2 * MS
    memory.scan(MIB // 2)
    assert blamed(memory.read_again()) == [("refault", "backup", MS)]


def test_what_came_in_is_not_all_that_fills_memory_so_it_is_not_certain() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    assert [row.confidence for row in memory.read_again()] == [pytest.approx(0.75)]


def test_without_who_pushed_it_out_the_page_needs_no_read(load: Load) -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    memory.ask()
    assert ns(predicted(load(memory), "backup").predicted_ns) == [0]
