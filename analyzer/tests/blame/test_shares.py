"""Shares are shares: an io that is one fifth background's counts as one fifth of an io."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.reports.render import held_up_text
from rcp.analyzer.reports.report import held_up
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load, Rows

US = 1000
ROLES = [
    ("background", "comm:backup"),
    ("foreground", "comm:writer"),
    ("foreground", "comm:client"),
]
BESIDE = "SELECT n_ios_ahead, n_ios_all, bytes_ahead, bytes_all, dur FROM inversion"
TAG, SLOT = "blk_mq_get_tag", "rq_qos_wait"


class Crowd:
    """The writer waits for a tag from 120 to 160 µs."""

    def __init__(self, frame: str = TAG) -> None:
        self.synth = Synth(ROLES)
        self.fg = self.synth.task("writer", target=True)
        self.client, self.bg = self.synth.task("client"), self.synth.task("backup")
        self.flusher = self.synth.task("kworker/u8:1", kthread=True)
        self.synth.request(self.fg, 100 * US, 200 * US)
        self.synth.io(self.fg, 115 * US, 250 * US, got=161 * US)
        self.synth.sleep(self.fg, 120 * US, 160 * US, interrupt=True, stack=["io_schedule", frame])

    def mixed(self, tenths: int, begin: int = 10, end: int = 300, size: int = 4096) -> None:
        """Add an io of which so many tenths are the backup's pages, the rest the client's."""
        io = self.synth.io(self.flusher, begin * US, end * US, size=size)
        for tid, pages in ((self.bg, tenths), (self.client, 10 - tenths)):
            if pages:
                self.synth.cause(io, tid, n_pages=pages)


@pytest.mark.parametrize("frame", [TAG, SLOT])
def test_tags_of_ios_that_are_a_fifth_backgrounds_are_a_fifth_backgrounds(
    load: Load, frame: str
) -> None:
    crowd = Crowd(frame)
    for _ in range(10):
        crowd.mixed(tenths=2, size=40960)
    store = load(crowd.synth)
    ((n_ios, n_all, size, size_all, dur),) = store.query(BESIDE)
    assert (n_ios, n_all) == (pytest.approx(2, abs=0.01), 10)
    assert (size, size_all) == (81920, 409600)
    assert dur == pytest.approx(8 * US, abs=40)
    kind = "admission_tag" if frame == TAG else "admission_slot"
    what = next(iter(held_up_text(held_up(store, 1))))
    assert what.split(maxsplit=2)[2] == (f"{kind} by backup, 2 of 10 ios ahead (80 KiB of 400 KiB)")


@given(st.lists(st.integers(0, 10), min_size=1, max_size=8))
def test_blame_is_for_the_mean_share_of_all_tags(tenths: list[int]) -> None:
    """For all of the wait from half of them on: the rest would not have been waited for."""
    crowd = Crowd()
    for part in tenths:
        crowd.mixed(part)
    share = sum(tenths) / 10 / len(tenths)
    rows = found(crowd.synth)
    if share > 0.101:
        (dur,) = [row.dur / (40 * US) for row in rows]
        near_half = abs(share - 0.5) < 0.002
        assert near_half or dur == pytest.approx(share if share < 0.5 else 1, abs=0.002)
        assert rows[0].confidence == 1
        assert rows[0].n_ios / rows[0].n_all == pytest.approx(share, abs=0.002)
    elif share < 0.099:
        assert rows == []


def test_tags_count_by_the_time_they_are_held(inversions: Rows) -> None:
    """Of two tags the backup has one all the time; ten ios of the client share the other."""
    crowd = Crowd()
    crowd.synth.io(crowd.bg, 10 * US, 300 * US)
    for at in range(120, 160, 4):
        crowd.synth.io(crowd.client, at * US, (at + 4) * US)
    assert [row[:3] + row[4:] for row in inversions(crowd.synth)] == [
        ("admission_tag", "backup", 40 * US, 1.0)
    ]


@pytest.mark.parametrize("until", [120, 130, 140, 150])
def test_a_tag_that_others_have_for_a_part_of_the_wait_they_would_have_anyway(until: int) -> None:
    """The only tag is the client's until then, and the backup's after that."""
    crowd = Crowd()
    crowd.synth.io(crowd.client, 10 * US, until * US)
    crowd.synth.io(crowd.bg, until * US, 300 * US)
    assert [(row.kind, row.dur) for row in found(crowd.synth)] == [
        ("admission_tag", (160 - until) * US)
    ]


def test_what_the_requests_own_process_has_of_a_tag_is_its_own() -> None:
    """A thread of it without a role has the only tag for 10 µs of 40."""
    crowd = Crowd()
    helper = crowd.synth.task("helper", pid=crowd.fg)
    crowd.synth.io(helper, 10 * US, 130 * US)
    crowd.synth.io(crowd.bg, 130 * US, 300 * US)
    assert [(row.culprit, row.dur) for row in found(crowd.synth)] == [("backup", 30 * US)]


def test_ios_that_hold_a_tag_for_a_moment_are_not_in_the_way(inversions: Rows) -> None:
    """Twelve of the backup's, one after another, for 1 µs each; the client has twenty tags."""
    crowd = Crowd()
    for _ in range(20):
        crowd.synth.io(crowd.client, 10 * US, 300 * US)
    for at in range(121, 157, 3):
        crowd.synth.io(crowd.bg, at * US, (at + 1) * US)
    assert inversions(crowd.synth) == []


@pytest.mark.parametrize("tenths", [0, 2, 10])
def test_queue_and_device_count_bytes_by_their_share(ask: Ask, tenths: int) -> None:
    """The writer's io waits from 110 to 160, behind one of 64 KiB in ten pages."""
    synth = Synth(ROLES)
    fg, bg, client = synth.task("writer", target=True), synth.task("backup"), synth.task("client")
    flusher = synth.task("kworker/u8:1", kthread=True)
    other = synth.io(flusher, 90 * US, 155 * US, size=65536)
    for tid, pages in ((bg, tenths), (client, 10 - tenths)):
        if pages:
            synth.cause(other, tid, n_pages=pages)
    io = synth.io(fg, 110 * US, 180 * US, issued=160 * US)
    synth.request(fg, 100 * US, 200 * US)
    synth.sleep(fg, 112 * US, 180 * US, io=io, stack=["folio_wait_writeback"])
    rows = ask(synth, f"{BESIDE} WHERE kind = 'queue'")
    share = tenths / 10
    assert [row[3] for row in rows] == ([65536] if tenths else [])
    for n_ios, _, size, _, dur in rows:
        assert n_ios == pytest.approx(share, abs=0.001)
        assert size == pytest.approx(65536 * share, abs=1)
        assert dur == pytest.approx(48 * US * share, abs=50)


def test_the_ios_in_the_words_are_of_one_moment(ask: Ask) -> None:
    """Of two waits, the one with most of the backup's ios is told, with all ios of that wait."""
    crowd = Crowd()
    for _ in range(3):
        crowd.mixed(10, end=165)
    crowd.mixed(0, end=165)
    crowd.synth.io(crowd.fg, 170 * US, 250 * US, got=190 * US)
    crowd.synth.sleep(crowd.fg, 170 * US, 189 * US, interrupt=True, stack=["blk_mq_get_tag"])
    crowd.mixed(10, begin=166)
    for _ in range(8):
        crowd.mixed(0, begin=166, size=1 << 20)
    assert [row[:4] for row in ask(crowd.synth, BESIDE)] == [(3, 4, 12288, 16384)]
