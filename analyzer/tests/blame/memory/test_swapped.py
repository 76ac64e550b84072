"""Memory of a process that was swapped out, and that a request needs: who took the room."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.tests.blame.found import Found, found
from rcp.analyzer.tests.blame.memory.memory import MS, PREAD, READ, ROLES, WRITE, blamed
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import IoFlag

PAGE = 4096
BEGIN = 2048
"""First sector of the swap space: slot 0."""


class Swap(Synth):
    """A swap space with a slot for each page; what is read back is waited for, for 1 ms."""

    def __init__(self) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True)
        self.backup = self.task("backup")
        self.kswapd = self.task("kswapd0", kthread=True)
        self.sleep(self.client, 0, 1 * MS)
        self.now = 2 * MS

    def out(self, tid: int, slot: int, n_pages: int = 1, *, swap: bool = True) -> None:
        """A task writes pages to slots."""
        flags = IoFlag.SWAP_OUT * swap
        where = {"sector": BEGIN + 8 * slot, "size": n_pages * PAGE, "op": WRITE, "flags": flags}
        self.io(tid, self.now, self.now + MS, **where)
        self.now += 2 * MS

    def back(self, slot: int, n_pages: int = 1, *, op: int = READ, **stages: int) -> None:
        """A request of the client needs a page that the next ones are read with.

        ``stages``: when the io got a request and was issued, ns after it was queued.
        """
        begin, self.now = self.now, self.now + 2 * MS
        where = {"sector": BEGIN + 8 * slot, "size": n_pages * PAGE, "op": op}
        where |= {name: begin + after for name, after in stages.items()}
        io = self.io(self.client, begin, begin + MS, **where)
        self.request(self.client, begin, begin + MS, nr=PREAD)
        self.sleep(self.client, begin, begin + MS, io=io)

    def inversions(self) -> list[Found]:
        return found(self)


def test_who_took_the_room_is_to_blame() -> None:
    swap = Swap()
    swap.out(swap.backup, 4)
    swap.back(4)
    (row,) = swap.inversions()
    assert row[:4] == ("refault", "backup", MS, REFAULT_CONFIDENCE)


def test_the_last_one_that_wrote_to_a_slot_did() -> None:
    """Slots are used again."""
    swap = Swap()
    swap.out(swap.client, 4)
    swap.out(swap.backup, 2, 8)
    swap.back(9)
    swap.out(swap.client, 9)
    assert blamed(swap.inversions()) == [("refault", "backup", MS)]


def test_an_io_of_several_pages_is_shared() -> None:
    """Half of it was written out by the backup, a quarter by another one, a quarter by nobody."""
    swap = Swap()
    other = swap.task("backup-2")
    swap.out(swap.backup, 0, 2)
    swap.out(other, 2)
    swap.back(0, 4)
    shares = {row.culprit: row.dur for row in swap.inversions()}
    assert shares == {"backup": MS // 2, "backup-2": MS // 4}


@pytest.mark.parametrize("helper", ["kswapd", "client"])
def test_who_makes_room_for_others_stands_for_them(helper: str) -> None:
    """The first page was taken by the backup; then one that was written out on its behalf."""
    swap = Swap()
    swap.out(swap.backup, 0)
    swap.out(getattr(swap, helper), 1)
    swap.back(0)
    swap.back(1)
    rows = swap.inversions()
    assert {(row.culprit, row.dur, row.confidence) for row in rows} == {
        ("backup", MS, REFAULT_CONFIDENCE),
        ("backup", MS, GUESS_CONFIDENCE),
    }


def test_what_only_kswapd_wrote_out_is_nobodys() -> None:
    swap = Swap()
    swap.out(swap.kswapd, 0)
    swap.back(0)
    assert swap.inversions() == []


def test_kswapd_hides_nobody_who_takes_memory() -> None:
    """It took three of four pages, because of who took the fourth."""
    swap = Swap()
    for slot, tid in enumerate((swap.backup, swap.kswapd, swap.kswapd, swap.kswapd)):
        swap.out(tid, slot)
    for slot in range(4):
        swap.back(slot)
    assert blamed(swap.inversions()) == 4 * [("refault", "backup", MS)]


def test_who_waits_for_its_own_swapping_gets_nothing_back() -> None:
    """It writes to a slot that the backup used before."""
    swap = Swap()
    swap.out(swap.backup, 0)
    swap.back(0, op=WRITE)
    assert swap.inversions() == []


def test_who_has_too_little_memory_for_itself_is_held_up_by_nobody() -> None:
    """Of four pages, the backup took one."""
    swap = Swap()
    for slot, tid in enumerate((swap.client, swap.client, swap.backup, swap.client)):
        swap.out(tid, slot)
    for slot in range(4):
        swap.back(slot)
    assert swap.inversions() == []


def test_pages_count_and_not_the_stages_of_their_ios() -> None:
    swap = Swap()
    for slot, tid in enumerate((swap.client, swap.client, swap.client, swap.backup)):
        swap.out(tid, slot)
    for slot in range(3):
        swap.back(slot)
    swap.back(3, got=MS // 4, inserted=MS // 4, issued=MS // 2)
    assert swap.inversions() == []


def test_pages_that_no_request_waits_for_count_too() -> None:
    """Most are needed outside of syscalls."""
    swap = Swap()
    for slot, tid in enumerate((swap.client, swap.client, swap.backup)):
        swap.out(tid, slot)
    for slot in range(2):
        swap.io(swap.client, swap.now, swap.now + MS, sector=BEGIN + 8 * slot, op=READ)
        swap.now += 2 * MS
    swap.back(2)
    assert swap.inversions() == []


def test_what_another_one_took_for_itself_is_not_the_backgrounds() -> None:
    """Of two pages read at once; of one alone it is nobody's."""
    swap = Swap()
    other = swap.task("client-2")
    for slot, tid in enumerate((swap.backup, other, swap.backup, other)):
        swap.out(tid, slot)
    swap.back(0, 2)
    assert blamed(swap.inversions()) == [("refault", "backup", MS // 2)]
    swap.back(3)
    assert blamed(swap.inversions()) == [("refault", "backup", MS // 2)]


def test_confidence_is_the_mean_of_what_is_sure_and_what_is_a_guess() -> None:
    swap = Swap()
    swap.out(swap.backup, 0)
    swap.out(swap.kswapd, 1)
    swap.back(0, 2)
    (row,) = swap.inversions()
    assert (row.culprit, row.dur) == ("backup", MS)
    assert row.confidence == pytest.approx((REFAULT_CONFIDENCE + GUESS_CONFIDENCE) / 2)


def test_sectors_that_something_else_was_written_to_are_no_swap_space_any_more() -> None:
    swap = Swap()
    swap.out(swap.backup, 4)
    swap.out(swap.client, 4, swap=False)
    swap.back(4)
    assert swap.inversions() == []


def test_who_took_pages_long_ago_has_none_now() -> None:
    """So the page that the client wrote out later, for itself, is its own."""
    swap = Swap()
    swap.out(swap.backup, 0)
    swap.back(0)
    swap.now += 1001 * MS
    swap.out(swap.client, 1)
    swap.back(1)
    assert blamed(swap.inversions()) == [("refault", "backup", MS)]


def test_a_write_of_a_file_takes_no_memory() -> None:
    swap = Swap()
    swap.out(swap.backup, 4, swap=False)
    swap.back(4)
    assert swap.inversions() == []


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 30), st.integers(1, 9)), max_size=12))
def test_each_page_is_of_the_last_one_that_wrote_its_slot(ios: list[tuple[bool, int, int]]) -> None:
    """By a map of slots: two backups write ranges of pages, and then one io reads all."""
    swap = Swap()
    other = swap.task("backup-2")
    names = {swap.backup: "backup", other: "backup-2"}
    slots: dict[int, str] = {}
    for is_other, slot, n_pages in ios:
        tid = other if is_other else swap.backup
        swap.out(tid, slot, n_pages)
        slots |= dict.fromkeys(range(slot, slot + n_pages), names[tid])
    swap.back(0, 40)
    n_known = len(slots)
    expected = {
        name: round(MS * list(slots.values()).count(name) / 40)
        for name in set(slots.values())
        if n_known >= 20
    }
    assert {row.culprit: row.dur for row in swap.inversions()} == expected
