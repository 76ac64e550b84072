"""A memory that is filled, in recordings worked out by hand."""

from __future__ import annotations

from rcp.analyzer.tests.blame.found import Found, found
from rcp.fixtures.synth import Synth

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
