"""A page that is read again was pushed out by who filled the memory since it was read last."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import Found, found
from rcp.analyzer.tests.whatif.worlds import ns, predicted
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load

MS = 1_000_000
MIB = 1 << 20
PREAD, READ, WRITE = 17, 0, 1
LIMITED = 7
"""The cgroup whose limit is reached."""
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]


class Memory(Synth):
    """The client reads a page, others fill the memory, and it reads the page again for 1 ms."""

    def __init__(self, cgroup: int = LIMITED) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True, cgroup_id=cgroup)
        self.sleep(self.client, 0, 1 * MS)
        self.now = 2 * MS
        self.tids: dict[str, int] = {}

    def fill(
        self, who: str, size: int, *, op: int = READ, cgroup: int = LIMITED, sector: int = 0
    ) -> int:
        """A task reads or writes this much, by default where nobody else did; return its tid."""
        if who not in self.tids:
            self.tids[who] = self.task(who, cgroup_id=cgroup)
        tid, sector = self.tids[who], sector or self.now
        self.io(tid, self.now, self.now + MS, op=op, size=size, sector=sector, ino=9)
        self.now += 2 * MS
        return tid

    def load(self, size: int = 4096) -> None:
        """The client reads page 800 for the first time."""
        self.io(self.client, self.now, self.now + MS, op=READ, sector=800, size=size, ino=5)
        self.now += 2 * MS

    def scan(self, size: int) -> None:
        """The client reads other pages."""
        self.io(self.client, self.now, self.now + MS, op=READ, sector=90000, size=size, ino=5)
        self.now += 2 * MS

    def read_again(self, **how: int) -> list[Found]:
        """The same; return the inversions."""
        self.ask(**how)
        return found(self)

    def ask(
        self,
        *,
        n_pages: int = 1,
        size: int = 4096,
        cgroup_id: int = 0,
        limit_pages: int = 0,
        **stages: int,
    ) -> None:
        """The client reads the page again."""
        begin, end = self.now, self.now + MS
        io = self.io(self.client, begin, end, op=READ, sector=800, size=size, ino=5, **stages)
        if n_pages:
            limit = {"cgroup_id": cgroup_id, "limit_pages": limit_pages}
            self.refault(self.client, begin, n_pages=n_pages, **limit)
        self.request(self.client, begin, end, nr=PREAD)
        self.sleep(self.client, begin, end, io=io)


def blamed(rows: list[Found]) -> list[tuple[str, str, int]]:
    return [(row.kind, row.culprit, row.dur) for row in rows]


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


@pytest.mark.parametrize(
    ("others", "is_known", "expected"),
    [(MIB // 2, True, [MS]), (MIB // 2, False, []), (2 * MIB, True, [])],
    ids=["too little", "no limit is known", "enough"],
)
def test_where_too_little_came_in_for_the_machine_it_was_the_readers_cgroup(
    others: int, is_known: bool, expected: list[int]
) -> None:
    """No cgroup is at its limit now, so the probe says the machine, which has 64 MiB.

    There, most of what came in may be another client's, in a cgroup of its own.
    """
    memory = Memory()
    if is_known:
        memory.ask(cgroup_id=LIMITED, limit_pages=MIB // 4096)
    memory.load()
    memory.fill("backup", MIB)
    memory.fill("client-2", others, cgroup=LIMITED + 1)
    rows = memory.read_again(limit_pages=64 * MIB // 4096)
    assert [row.dur for row in rows] == expected


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


def test_where_the_rest_alone_exceeds_the_limit_nobody_is_to_blame() -> None:
    memory = Memory()
    memory.load()
    memory.scan(3 * MIB)
    memory.fill("backup", 30 * MIB)
    assert memory.read_again(cgroup_id=LIMITED, limit_pages=3 * MIB // 4096) == []


def test_of_a_cgroups_limit_only_its_members_are_to_blame() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    memory.fill("backup-elsewhere", 9 * MIB, cgroup=8)
    assert blamed(memory.read_again(cgroup_id=LIMITED)) == [("refault", "backup", MS)]


def test_of_the_machines_limit_all_are_to_blame() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup-elsewhere", 9 * MIB, cgroup=8)
    assert blamed(memory.read_again()) == [("refault", "backup-elsewhere", MS)]


def test_the_limit_of_a_cgroup_above_may_be_that_of_any_cgroup() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup-elsewhere", 9 * MIB, cgroup=8)
    memory.fill("backup-of-root", 90 * MIB, cgroup=1)
    rows = memory.read_again(cgroup_id=6)
    assert blamed(rows) == [("refault", "backup-elsewhere", MS)]


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


def test_next_to_nothing_pushes_no_page_out() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    assert memory.read_again(limit_pages=64 * MIB // 4096) == []


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
