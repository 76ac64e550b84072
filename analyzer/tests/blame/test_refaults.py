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
ROLES = [("foreground", "comm:client"), ("background", "comm:backup*")]


class Memory(Synth):
    """The client reads a page, others fill the memory, and it reads the page again for 1 ms."""

    def __init__(self, cgroup: int = LIMITED) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True, cgroup_id=cgroup)
        self.sleep(self.client, 0, 1 * MS)
        self.now = 2 * MS

    def fill(self, who: str, size: int, *, op: int = READ, cgroup: int = LIMITED, **of: int) -> int:
        tid = self.task(who, cgroup_id=cgroup)
        sector = of.pop("sector", self.now)
        written = self.io(
            tid, self.now, self.now + MS, op=op, size=size, sector=sector, ino=9, **of
        )
        self.now += 2 * MS
        return written

    def load(self, size: int = 4096) -> None:
        """The client reads page 800 for the first time."""
        self.io(self.client, self.now, self.now + MS, op=READ, sector=800, size=size, ino=5)
        self.now += 2 * MS

    def scan(self, size: int) -> None:
        """The client reads other pages."""
        self.io(self.client, self.now, self.now + MS, op=READ, sector=90000, size=size, ino=5)
        self.now += 2 * MS

    def read_again(self, *, n_pages: int = 1, size: int = 4096, **limit: int) -> list[Found]:
        self.ask(n_pages=n_pages, size=size, **limit)
        return found(self)

    def ask(self, *, n_pages: int = 1, size: int = 4096, **limit: int) -> None:
        begin, end = self.now, self.now + MS
        io = self.io(self.client, begin, end, op=READ, sector=800, size=size, ino=5)
        if n_pages:
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


def test_each_is_blamed_for_its_part_of_what_came_in() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    memory.fill("backup-2", 3 * MIB)
    assert blamed(memory.read_again()) == [
        ("refault", "backup-2", 750_000),
        ("refault", "backup", 250_000),
    ]


def test_what_mostly_the_client_itself_brought_in_counts_by_the_share() -> None:
    memory = Memory()
    memory.load()
    memory.scan(3 * MIB)
    memory.fill("backup", MIB)
    assert blamed(memory.read_again()) == [("refault", "backup", MS // 4)]


def test_where_the_rest_alone_exceeds_the_limit_nobody_is_to_blame() -> None:
    memory = Memory()
    memory.load()
    memory.scan(3 * MIB)
    memory.fill("backup", 30 * MIB)
    assert memory.read_again(cgroup_id=LIMITED, limit=3 * MIB // 4096) == []


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


def test_new_pages_that_are_written_fill_it_but_the_same_ones_do_so_once() -> None:
    memory = Memory()
    memory.load()
    memory.scan(2 * MIB)
    for _ in range(8):
        memory.fill("backup", MIB, op=WRITE, sector=5000)
    rows = memory.read_again()
    assert blamed(rows) == [("refault", "backup", round(MS / 3))]


def test_of_an_io_of_many_pages_the_part_that_was_in_memory_counts() -> None:
    memory = Memory()
    memory.load(size=4 * 4096)
    memory.fill("backup", MIB)
    assert blamed(memory.read_again(n_pages=1, size=4 * 4096)) == [("refault", "backup", MS // 4)]


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
