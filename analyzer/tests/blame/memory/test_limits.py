"""Nobody pushed a page out of a memory that was not full: whose limit it was counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.memory.memory import (
    LIMITED,
    MIB,
    MS,
    Memory,
    blamed,
)

if TYPE_CHECKING:
    pass


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


def test_next_to_nothing_pushes_no_page_out() -> None:
    memory = Memory()
    memory.load()
    memory.fill("backup", MIB)
    assert memory.read_again(limit_pages=64 * MIB // 4096) == []
