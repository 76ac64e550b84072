"""A request's CPU time on ios that carry others' pages is those others' doing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

US = 1000
FSYNC = 74
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]
BEFORE_THE_WAIT = "SELECT dur // 1000, chain, culprit, kind FROM inversion WHERE depth = 0"


class Fsync(Synth):
    """From 100 to 1100 µs the client writes what is dirty, in ios of some tasks' pages each."""

    def __init__(self) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True)
        self.backup = self.task("backup")
        self.request(self.client, 100 * US, 1100 * US, nr=FSYNC)

    def writes(self, at: int, *, mine: int = 0, theirs: int = 0) -> int:
        """Queue an io of that many pages."""
        io = self.io(self.client, at * US, 1000 * US, size=4096 * (mine + theirs))
        parts = [(who, n) for who, n in ((self.client, mine), (self.backup, theirs)) if n]
        for who, n_pages in parts:
            self.cause(io, who, n_pages=n_pages, n_causes=len(parts))
        return io

    def waits(self, io: int, since: int) -> None:
        """Wait for an io until 1000 µs."""
        self.sleep(self.client, since * US, 1000 * US, 1000 * US, io=io)


@pytest.fixture
def prepared_us(ask: Ask) -> Callable[[Fsync], list[int]]:
    """Return a function that tells the µs of the inversions before the wait."""

    def of(stage: Fsync) -> list[int]:
        rows = ask(stage, BEFORE_THE_WAIT)
        expected = ("fsync → io for backup", "backup", "io_dependency")
        assert {row[1:] for row in rows} <= {expected}
        return [int(str(row[0])) for row in rows]

    return of


def test_the_time_before_each_io_is_its_pages_owners(
    prepared_us: Callable[[Fsync], list[int]],
) -> None:
    """300 µs for the first io's, 80 of 200 for the third one's; 100 µs for the client's own."""
    stage = Fsync()
    stage.writes(400, theirs=64)
    stage.writes(500, mine=64)
    stage.waits(stage.writes(700, mine=48, theirs=32), 750)
    assert prepared_us(stage) == [380]


def test_what_a_thread_did_long_before_is_its_own(
    prepared_us: Callable[[Fsync], list[int]],
) -> None:
    """It computes before it syncs: 100 µs and 5 for each page are the most that an io takes."""
    stage = Fsync()
    stage.waits(stage.writes(700, theirs=8), 750)
    assert prepared_us(stage) == [140]


def test_what_was_done_before_the_request_is_none_of_it(
    prepared_us: Callable[[Fsync], list[int]],
) -> None:
    """The client's read from 20 to 60 µs did not prepare the write."""
    stage = Fsync()
    stage.request(stage.client, 20 * US, 60 * US, nr=0)
    stage.waits(stage.writes(400, theirs=64), 420)
    assert prepared_us(stage) == [300]


def test_an_io_that_is_queued_outside_a_request_takes_none_of_its_time(
    prepared_us: Callable[[Fsync], list[int]],
) -> None:
    """It wrote the backup's pages later, in a call that is not recorded as a request."""
    stage = Fsync()
    stage.waits(stage.writes(400, mine=8), 420)
    io = stage.io(stage.client, 1500 * US, 1900 * US)
    stage.cause(io, stage.backup, n_pages=8)
    assert prepared_us(stage) == []


@pytest.mark.parametrize(("theirs_us", "theirs"), [([], 0), ([], 1), ([240], 32)])
def test_little_has_no_culprit(
    prepared_us: Callable[[Fsync], list[int]], theirs_us: list[int], theirs: int
) -> None:
    """A page of forty is 7 µs of 300, less than what counts as a loss."""
    stage = Fsync()
    stage.waits(stage.writes(400, mine=40 - theirs, theirs=theirs), 420)
    assert prepared_us(stage) == theirs_us
