"""A wait that several owners share is divided among them, in proportion."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.analyzer.blame.by_owner import MOST_OWNERS
from rcp.analyzer.tests.blame.found import found
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US, KIB = 1000, 1024
ROLES = [
    ("background", "comm:backup"),
    ("background", "comm:vacuum*"),
    ("foreground", "comm:writer"),
    ("foreground", "comm:client"),
]
WAIT_US = 1000


def queue(sizes_kib: dict[str, int]) -> dict[str, int]:
    """The writer's io is in the queue for 1 ms, behind one io of each; return who is blamed."""
    synth = Synth(ROLES)
    fg = synth.task("writer", target=True)
    for comm, size in sizes_kib.items():
        synth.io(synth.task(comm), 10 * US, 1155 * US, issued=20 * US, size=size * KIB)
    io = synth.io(fg, 110 * US, 1200 * US, issued=1110 * US)
    synth.request(fg, 100 * US, 1300 * US)
    synth.sleep(fg, 110 * US, 1200 * US, io=io, stack=["folio_wait_writeback"])
    blamed: Counter[str] = Counter()
    for row in found(synth):
        if row.kind == "queue":
            blamed[row.culprit] += row.dur
            assert row.confidence == 1
    return dict(blamed)


def test_two_backgrounds_and_a_client_in_a_queue() -> None:
    blamed = queue({"backup": 192, "vacuum": 64, "client": 64})
    assert blamed == {"backup": 600 * US, "vacuum": 200 * US}


SIZES = st.dictionaries(
    st.sampled_from(("backup", "vacuum", "vacuum2", "client")), st.integers(1, 300), min_size=1
)


@given(SIZES)
def test_each_is_blamed_for_its_share_and_the_foreground_for_none(sizes: dict[str, int]) -> None:
    total = sum(sizes.values())
    blamed = queue(sizes)
    guilty = {comm: size for comm, size in sizes.items() if comm != "client"}
    if sum(guilty.values()) < 0.1 * total:
        assert blamed == {}
        return
    assert set(blamed) == set(guilty)
    for comm, size in guilty.items():
        assert blamed[comm] == pytest.approx(WAIT_US * US * size / total, abs=1)


@given(st.integers(MOST_OWNERS + 1, 12))
def test_of_many_the_smallest_count_with_the_largest(n: int) -> None:
    sizes = {f"vacuum{number}": 10 + number for number in range(n)}
    blamed = queue(sizes)
    assert len(blamed) == MOST_OWNERS
    assert sum(blamed.values()) == pytest.approx(WAIT_US * US, abs=MOST_OWNERS)
    assert max(blamed, key=lambda comm: blamed[comm]) == f"vacuum{n - 1}"


def test_tags_of_two_that_have_most_are_all_of_the_wait(inversions: Rows) -> None:
    """Three tags are the backup's, one the vacuum's, one the client's."""
    synth = Synth(ROLES)
    fg = synth.task("writer", target=True)
    owners = [synth.task(comm) for comm in ("backup", "vacuum", "client")]
    for owner, count in zip(owners, (3, 1, 1), strict=True):
        for _ in range(count):
            synth.io(owner, 10 * US, 300 * US)
    synth.request(fg, 100 * US, 200 * US)
    synth.io(fg, 115 * US, 250 * US, got=161 * US)
    stack = ["io_schedule", "blk_mq_get_tag"]
    synth.sleep(fg, 120 * US, 160 * US, interrupt=True, stack=stack)
    assert [row[:3] + row[4:] for row in inversions(synth)] == [
        ("admission_tag", "backup", 30 * US, 1.0),
        ("admission_tag", "vacuum", 10 * US, 1.0),
    ]


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6))
def test_an_io_with_data_of_three(backup: int, vacuum: int, client: int) -> None:
    synth = Synth(ROLES)
    fg, flusher = synth.task("writer", target=True), synth.task("kworker/u8:1", kthread=True)
    pages = {"backup": backup, "vacuum": vacuum, "client": client}
    total = sum(pages.values())
    io = synth.io(flusher, 110 * US, 180 * US)
    for comm, count in pages.items():
        task = synth.task(comm)
        if count:
            synth.cause(io, task, n_pages=count)
    synth.request(fg, 100 * US, 200 * US)
    synth.sleep(fg, 120 * US, 180 * US, io=io, stack=["folio_wait_writeback"])
    blamed = {row.culprit: row.dur for row in found(synth)}
    guilty = {comm: count for comm, count in pages.items() if comm != "client" and count}
    if guilty and sum(guilty.values()) < 0.1 * total:
        guilty = {}
    assert set(blamed) == set(guilty)
    for comm, count in guilty.items():
        assert blamed[comm] == pytest.approx(60 * US * count / total, abs=1)
