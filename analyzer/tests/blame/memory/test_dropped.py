"""A page that is read again was dropped from memory by another task, which it did not bring in."""

from __future__ import annotations

from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE, REFAULT_CONFIDENCE
from rcp.analyzer.tests.blame.found import Found, found
from rcp.analyzer.tests.blame.memory.memory import MS, PREAD, READ, ROLES, WRITE, blamed
from rcp.fixtures.synth import DEVICE, Synth

FILE, PAGE, WHOLE = 5, 7, 1 << 40
SECTORS = 8
"""Of a page; the file begins at sector 0."""


class Cache(Synth):
    """A file of which pages are read into memory and dropped, and the client reads page 7."""

    def __init__(self) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True)
        self.backup = self.task("backup")
        self.other = self.task("other")
        self.sleep(self.client, 0, 1 * MS)
        self.now = 2 * MS

    def from_disk(self, tid: int, *, op: int = READ, page: int = PAGE) -> int:
        """A task reads a page from the disk, or writes it there, for 1 ms."""
        begin, self.now = self.now, self.now + 2 * MS
        return self.io(tid, begin, begin + MS, op=op, sector=SECTORS * page, ino=FILE)

    def drop(self, tid: int, first: int = 0, last: int = WHOLE) -> None:
        self.drop_pages(tid, self.now, first, last, ino=FILE)
        self.now += MS

    def ask(self) -> list[Found]:
        """The client reads page 7 again; return the inversions."""
        begin = self.now
        io = self.from_disk(self.client)
        self.reread(self.client, begin, PAGE, ino=FILE)
        self.request(self.client, begin, begin + MS, nr=PREAD)
        self.sleep(self.client, begin, begin + MS, io=io)
        return found(self)


def test_who_drops_a_page_that_the_client_had_read_is_to_blame() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.backup)
    (row,) = cache.ask()
    assert row[:4] == ("refault", "backup", MS, REFAULT_CONFIDENCE)


def test_who_read_the_page_from_the_disk_before_it_dropped_it_took_nothing_away() -> None:
    cache = Cache()
    cache.from_disk(cache.backup)
    cache.drop(cache.backup)
    assert cache.ask() == []


def test_nor_if_another_one_had_dropped_it_before_that() -> None:
    """A drop of other pages of the file does not matter."""
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.other)
    cache.drop(cache.backup, 0, PAGE - 1)
    cache.from_disk(cache.backup)
    cache.drop(cache.backup, PAGE, PAGE)
    assert blamed(cache.ask()) == [("refault", "other", MS)]


def test_what_one_task_of_the_background_reads_another_one_takes_from_nobody() -> None:
    cache = Cache()
    cache.from_disk(cache.task("backup-reader"))
    cache.drop(cache.backup)
    assert cache.ask() == []


def test_who_changes_a_page_in_memory_and_drops_it_takes_it_away() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.from_disk(cache.backup, op=WRITE)
    cache.drop(cache.backup)
    assert blamed(cache.ask()) == [("refault", "backup", MS)]


def test_who_drops_what_it_has_written_itself_takes_nothing_away() -> None:
    cache = Cache()
    cache.from_disk(cache.other, op=WRITE)
    cache.drop(cache.other)
    assert cache.ask() == []


def test_a_page_of_a_large_folio_goes_with_the_whole_of_it() -> None:
    """A drop of page 8 takes pages 0 to 15 away: 16 are gone."""
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop_pages(cache.backup, cache.now, 8, 8, ino=FILE, n_pages=16)
    cache.now += MS
    assert blamed(cache.ask()) == [("refault", "backup", MS)]


def test_of_a_file_of_which_little_was_in_memory_a_page_was_hardly_there() -> None:
    """Nobody had used it while recorded, and a drop of 1000 pages took one away."""
    cache = Cache()
    cache.drop_pages(cache.backup, cache.now, 0, 999, ino=FILE, n_pages=1)
    cache.reread(cache.other, cache.now, 999, ino=FILE)
    cache.now += MS
    assert cache.ask() == []


def test_a_backup_that_reads_again_what_it_dropped_has_dropped_it_in_the_first_place() -> None:
    cache = Cache()
    cache.from_disk(cache.client, op=WRITE)
    for _ in range(3):
        cache.drop(cache.backup)
        cache.from_disk(cache.backup)
    cache.drop(cache.backup)
    assert blamed(cache.ask()) == [("refault", "backup", MS)]


def test_what_was_in_memory_before_the_recording_is_a_guess() -> None:
    cache = Cache()
    cache.drop(cache.backup)
    (row,) = cache.ask()
    assert row[:4] == ("refault", "backup", MS, GUESS_CONFIDENCE)


def test_a_page_that_was_used_after_the_drop_has_left_the_memory_in_another_way() -> None:
    cache = Cache()
    cache.drop(cache.backup)
    cache.from_disk(cache.other)
    assert cache.ask() == []


def test_the_first_to_drop_a_page_since_it_was_used_is_to_blame() -> None:
    """Who drops pages that are gone takes nothing away, be it the client itself."""
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.backup)
    cache.drop(cache.client)
    assert blamed(cache.ask()) == [("refault", "backup", MS)]


def test_a_client_that_drops_its_own_pages_reads_them_again_on_its_own_account() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.client)
    cache.drop(cache.backup)
    assert cache.ask() == []


def test_another_foreground_task_is_no_suspect() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.task("client-2"))
    assert cache.ask() == []


def test_a_drop_after_the_read_was_queued_is_not_its_reason() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    begin = cache.now
    cache.now += MS // 2
    cache.drop(cache.backup)
    cache.now = begin
    assert cache.ask() == []


def test_a_file_of_another_device_with_the_same_number_is_another_file() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop_pages(cache.backup, cache.now, 0, WHOLE, ino=FILE, dev=DEVICE + 1)
    assert cache.ask() == []


def test_a_kernel_worker_may_write_for_who_drops_its_pages() -> None:
    cache = Cache()
    cache.from_disk(cache.task("kworker/u4:1", kthread=True), op=WRITE)
    cache.drop(cache.backup)
    assert cache.ask() == []


def test_a_drop_of_another_range_or_file_is_none_of_this_page() -> None:
    cache = Cache()
    cache.from_disk(cache.client)
    cache.drop(cache.backup, 0, PAGE - 1)
    cache.drop_pages(cache.backup, cache.now, 0, WHOLE, ino=FILE + 1)
    assert cache.ask() == []
