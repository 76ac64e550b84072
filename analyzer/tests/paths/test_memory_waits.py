"""Waits for memory on a critical path."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

SEGMENTS = "SELECT kind, dur FROM segment WHERE depth > 0 ORDER BY ts"


@pytest.mark.parametrize(
    ("stack", "kind"),
    [
        ("schedule_timeout reclaim_throttle shrink_node try_to_free_pages", "reclaim"),
        ("schedule_timeout schedule_timeout_killable mem_cgroup_handle_over_high", "memcg_limit"),
    ],
)
def test_a_wait_for_memory_that_times_out_has_its_reason(ask: Ask, stack: str, kind: str) -> None:
    synth = Synth()
    fg = synth.task("writer", target=True)
    synth.request(fg, 100, 200)
    synth.sleep(fg, 110, 190, interrupt=True, stack=stack.split())
    assert ask(synth, SEGMENTS) == [(kind, 80)]


def test_reclaim_that_writes_leads_to_who_dirtied_the_pages(ask: Ask) -> None:
    synth = Synth([("background", "comm:bg")])
    fg, flusher = synth.task("writer", target=True), synth.task("kworker/u8:1", kthread=True)
    bg = synth.task("bg")
    synth.request(fg, 100, 200)
    io = synth.io(flusher, 90, 190)
    synth.cause(io, bg)
    synth.sleep(fg, 110, 190, io=io, stack=["folio_wait_writeback", "try_to_free_pages"])
    assert ask(synth, "SELECT kind, culprit, chain FROM inversion") == [
        ("io_dependency", "bg", "fsync → reclaim → io by kworker/u8:1 for bg")
    ]
