"""What a stacked device does for one bio: who waits for the bio needs all of it; times in us."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

US = 1000
CHUNK = 64 << 10
ROLES = [("foreground", "comm:fg"), ("background", "comm:bg")]


class Copying(Synth):
    """A write of ``fg``, from 5 to 300 us, ends with its bio, which the copier queues at 190.

    Before that the copier waits from 10 to 100 us for what it writes for ``bg``, and then for a
    read of another thread's from 20 to 180, for the bio that ``whose`` has queued at ``queued``.
    """

    def __init__(
        self, whose: str = "fg", queued: int = 9, *, dev: int = 2, alone: bool = True
    ) -> None:
        super().__init__(ROLES)
        self.fg, self.bg, self.copier = self.task("fg"), self.task("bg"), self.task("kworker/0:1")
        self.request(self.fg, 5 * US, 300 * US, nr=0)
        theirs = self.did("bg", 8, 10, 100, dev=1)
        reader = self.task("kworker/1:1")
        read = self.did(whose, queued, 20, 180, dev=dev, by=reader, size=CHUNK)
        bio = self.did("fg", 9, 190, 300)
        if alone:
            self.did("fg", 3000, 3000, 3160, size=CHUNK)  # it takes 160 us
        else:
            self.did("fg", 8, 15, 185, size=CHUNK)
        self.sleep(self.copier, 10 * US, 100 * US, io=theirs)
        self.sleep(self.copier, 105 * US, 180 * US, io=read)
        self.sleep(self.fg, 12 * US, 300 * US, io=bio, stack=["io_schedule", "__iomap_dio_rw"])

    def did(
        self,
        whose: str,
        queued: int,
        begin: int,
        end: int,
        *,
        dev: int = 2,
        by: int = 0,
        size: int = 4096,
    ) -> int:
        """The copier, or another thread, does an io for a bio of a task."""
        io = self.io(by or self.copier, begin * US, end * US, dev=dev, size=size)
        self.origin(io, {"fg": self.fg, "bg": self.bg}[whose], queued * US)
        return io


@pytest.mark.parametrize(
    ("whose", "queued", "blamed"), [("fg", 9, 8), ("fg", 7, 88), ("bg", 9, 163)]
)
def test_what_is_read_for_the_bio_takes_its_time_anyway(
    whose: str, queued: int, blamed: int
) -> None:
    """The request waits from 12 us on, and for its own read from 20 us on."""
    rows = found(Copying(whose, queued))
    assert {row.culprit for row in rows} == {"bg"}
    assert sum(row.dur for row in rows) / US == blamed


def test_how_long_it_would_take_alone_need_not_be_known() -> None:
    """Another io of its size is at the device all the time."""
    assert sum(row.dur for row in found(Copying(alone=False))) / US == 8


def test_what_is_read_elsewhere_may_be_for_another_part_of_the_bio() -> None:
    assert sum(row.dur for row in found(Copying(dev=3))) / US == 88
