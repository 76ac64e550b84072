"""Blame below stacked devices: an io is whose it is, not that of the device's thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.tests.blame.test_causes import causes
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

US = 1000
LOOP = 7 << 20
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


class Image:
    """Transaction 7 of the file system below a loop device, committed at 100.

    The worker's handle, from 50 to 52, is for what was written to the device since transaction 6
    was committed at 40. Its log is io 1.
    """

    def __init__(self) -> None:
        self.synth = synth = Synth()
        self.a, self.b = synth.task("a"), synth.task("b")
        self.worker = synth.task("kworker/u4:1", kthread=True)
        self.below = synth.task("jbd2/sda-8", kthread=True)
        self.above = synth.task("jbd2/loop0-8", kthread=True)
        synth.commit(self.below, 40, 45, transaction=6)
        synth.handle(self.worker, 50, 52, transaction=7)
        synth.commit(self.below, 100, 200, transaction=7)
        synth.io(self.below, 150, 160)

    def write(self, begin: int, owner: int, *, op: int = 1, dev: int = LOOP) -> None:
        io = self.synth.io(owner, begin - 1, begin + 4, dev=dev, op=op)
        self.synth.served(io, self.worker, begin, begin + 3, owner=owner, dev=dev)


def test_a_workers_handle_is_for_all_who_wrote_to_its_device_since_the_last_commit() -> None:
    image = Image()
    image.write(30, image.a)  # before
    image.write(49, image.a)  # it opens the handle
    image.write(60, image.b)
    image.write(70, image.b)
    image.write(80, image.b, op=0)  # reads change nothing
    image.write(90, image.a, dev=LOOP + 1)  # another file
    image.write(110, image.a)  # after
    kind, shares = causes(image.synth)[0]
    assert (kind, shares) == ("journal", {"a": 0.333, "b": 0.667})


def test_what_a_journal_thread_writes_to_a_loop_device_is_for_whose_transaction_it_commits() -> (
    None
):
    image = Image()
    image.synth.handle(image.b, 41, 43, transaction=3, dev=LOOP, n=3)
    image.synth.handle(image.a, 42, 43, transaction=3, dev=LOOP)
    image.synth.commit(image.above, 46, 120, transaction=3, dev=LOOP)
    image.write(49, image.above)
    flushed = image.synth.io(image.worker, 55, 58)
    image.synth.cause(flushed, image.above)
    found = causes(image.synth)
    assert found[0] == ("journal", {"b": 1.0})
    assert found[-1] == ("dirtier", {"b": 1.0})


def test_a_workers_handle_counts_once() -> None:
    """It wrote for a, and flushed b's page."""
    image = Image()
    client = image.synth.task("client")
    image.synth.handle(client, 55, 56, transaction=7)
    image.write(49, image.a)
    image.synth.cause(image.synth.io(image.worker, 51, 58), image.b)
    kind, shares = causes(image.synth)[0]
    assert (kind, shares) == ("journal", {"a": 0.25, "b": 0.25, "client": 0.5})


def test_a_handle_of_a_worker_that_serves_nobody_is_its_own() -> None:
    image = Image()
    image.write(60, image.b)
    assert causes(image.synth)[0] == ("journal", {"kworker/u4:1": 1.0})


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
