"""Blame below stacked devices: an io is whose it is, not that of the device's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.test_causes import causes
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1000
ROLES = [("background", "comm:compaction"), ("foreground", "comm:reader")]


def test_an_io_of_a_stacked_devices_thread_is_who_it_was_queued_for() -> None:
    synth = Synth()
    crypt, writer = synth.task("dmcrypt_write", kthread=True), synth.task("writer")
    synth.origin(synth.io(crypt, 20, 30), writer, 10)
    synth.io(crypt, 20, 30)
    assert causes(synth) == [("origin", {"writer": 1.0}), ("submitter", {})]


def test_dirtied_pages_come_before_who_queued_them_above() -> None:
    synth = Synth()
    crypt, flusher, writer = (synth.task(n) for n in ("dmcrypt_write", "kworker", "writer"))
    io = synth.io(crypt, 20, 30)
    synth.origin(io, flusher, 10)
    synth.cause(io, writer)
    assert causes(synth) == [("dirtier", {"writer": 1.0})]


def test_a_journal_on_a_stacked_device_writes_for_its_handles() -> None:
    """The device's thread queues the log after the commit ended; it came in during it."""
    synth = Synth()
    writer, jbd2 = synth.task("writer"), synth.task("jbd2/dm-0-8", kthread=True)
    crypt = synth.task("dmcrypt_write", kthread=True)
    synth.handle(writer, 50, 60, transaction=7)
    synth.commit(jbd2, 100, 200, transaction=7)
    synth.origin(synth.io(crypt, 201, 250), jbd2, 199)
    assert causes(synth) == [("journal", {"writer": 1.0})]


def test_an_io_below_a_loop_device_has_the_shares_of_the_one_above() -> None:
    synth = Synth()
    worker, flusher = synth.task("kworker", kthread=True), synth.task("flusher", kthread=True)
    a, b = synth.task("a"), synth.task("b")
    above = synth.io(flusher, 10, 50)
    synth.cause(above, a, n_pages=3)
    synth.cause(above, b, n_pages=1)
    middle = synth.io(worker, 20, 45)
    synth.origin(middle, a, 10, parent=above)
    synth.origin(synth.io(worker, 30, 40), a, 10, parent=middle)
    assert causes(synth) == [("dirtier", {"a": 0.75, "b": 0.25})] * 3


@pytest.mark.parametrize("guilty", [True, False])
def test_a_reader_behind_encrypted_writes_is_delayed_by_who_wrote(
    inversions: Rows, guilty: bool
) -> None:
    synth = Synth(ROLES)
    reader = synth.task("reader", target=True)
    writer = synth.task("compaction" if guilty else "reader", tid=50)
    crypt = synth.task("dmcrypt_write", kthread=True)
    synth.request(reader, 100 * US, 200 * US)
    for at in range(8):
        io = synth.io(crypt, 90 * US + at, (150 + at) * US, size=1 << 20)
        synth.origin(io, writer, 80 * US)
    alone = synth.io(reader, 10 * US, 20 * US, op=0)
    io = synth.io(reader, 101 * US, 180 * US, op=0)
    synth.sleep(reader, 102 * US, 180 * US, io=io)
    assert alone
    found = [(kind, culprit) for kind, culprit, *_ in inversions(synth)]
    assert found == ([("device", "compaction")] if guilty else [])
