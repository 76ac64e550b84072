"""Interrupts that end others' ios take a request's CPU, and are those others' doing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.found import Found, found
from rcp.analyzer.tests.whatif.worlds import ns, predicted
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Load

US = 1000
PWRITE = 18
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]


class Interrupted(Synth):
    """The client runs from 0 to 1000 µs; others' ios end meanwhile."""

    def __init__(self) -> None:
        super().__init__(ROLES)
        self.client = self.task("client", target=True)
        self.backup = self.task("backup")
        self.kworker = self.task("kworker/u4:1", kthread=True)

    def ends(self, who: int, at: int, dur: int) -> int:
        """An io of that task ends, which takes so long."""
        io = self.io(who, 1 * US, at * US)
        self.interrupt(io, at * US, (at + dur) * US, self.client)
        return io

    def blamed(self) -> list[Found]:
        self.sleep(self.client, 2000 * US, 3000 * US)
        self.request(self.client, 0, 1000 * US, nr=PWRITE)
        return found(self)


def test_the_interrupts_are_the_doing_of_whose_io_ends() -> None:
    stage = Interrupted()
    stage.ends(stage.backup, 100, 200)
    stage.ends(stage.backup, 500, 40)
    (row,) = stage.blamed()
    assert row[:4] == ("interrupt", "backup", 240 * US, 1.0)


def test_the_end_of_an_own_io_is_nobodys_doing() -> None:
    stage = Interrupted()
    stage.ends(stage.client, 100, 200)
    assert stage.blamed() == []


def test_the_end_of_an_io_that_was_waited_for_is_a_part_of_that_wait() -> None:
    """Woken for the first page at 400 µs, it gets the CPU when the last one is done, at 600."""
    stage = Interrupted()
    io = stage.io(stage.client, 90 * US, 395 * US)
    stage.cause(io, stage.backup)
    stage.interrupt(io, 395 * US, 600 * US, 0)
    stage.sleep(stage.client, 100 * US, 400 * US, 600 * US, io=io)
    assert next(row[:3] for row in stage.blamed()) == ("io_dependency", "backup", 500 * US)


def test_an_io_of_several_is_blamed_by_their_parts() -> None:
    """A flusher writes a page of the client's and three of the backup's."""
    stage = Interrupted()
    io = stage.ends(stage.kworker, 100, 200)
    stage.cause(io, stage.client, n_pages=1, n_causes=2)
    stage.cause(io, stage.backup, n_pages=3, n_causes=2)
    (row,) = stage.blamed()
    assert row[:3] == ("interrupt", "backup", 150 * US)


@pytest.mark.parametrize(("dur", "n"), [(49, 0), (50, 1)])
def test_a_request_that_loses_little_has_no_culprit(dur: int, n: int) -> None:
    stage = Interrupted()
    stage.ends(stage.backup, 100, dur)
    assert len(stage.blamed()) == n


def test_without_the_culprit_nothing_interrupts(load: Load) -> None:
    stage = Interrupted()
    stage.ends(stage.backup, 100, 200)
    stage.ends(stage.client, 400, 30)
    stage.sleep(stage.client, 2000 * US, 3000 * US)
    stage.request(stage.client, 0, 1000 * US, nr=PWRITE)
    with load(stage) as store:
        assert ns(predicted(store, "backup").predicted_ns) == [800 * US]
        chain = store.query("SELECT kind, chain FROM inversion")
    assert chain == [("interrupt", "syscall_18 → interrupt for backup")]


def test_a_request_that_computes_keeps_its_own_time(load: Load) -> None:
    """The others compute for a tenth of it; that is no measure where nothing was waited for."""
    stage = Interrupted()
    for number in range(5):
        ts = (2000 + 200 * number) * US
        stage.request(stage.client, ts, ts + 100 * US, nr=PWRITE)
    stage.ends(stage.backup, 300, 20)
    stage.sleep(stage.client, 4000 * US, 5000 * US)
    stage.request(stage.client, 0, 1000 * US, nr=PWRITE)
    with load(stage) as store:
        assert ns(predicted(store, "backup").predicted_ns) == [980 * US, *[100 * US] * 5]
