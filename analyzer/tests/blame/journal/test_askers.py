"""Who asked for a commit, and for whom one is that nobody asked for."""

from __future__ import annotations

import pytest

from rcp.analyzer.tests.blame.found import found
from rcp.analyzer.tests.blame.journal.test_commits import US, Journal, brief
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason


def commit_with_the_writers_blocks(journal: Journal) -> None:
    """The journal thread commits from 105 to 190; the writer waits for its log."""
    synth = journal.synth
    synth.commit(journal.jbd2, 105 * US, 190 * US, logging=110 * US)
    log = synth.io(journal.jbd2, 120 * US, 180 * US)
    synth.request(journal.fg, 130 * US, 185 * US)
    synth.sleep(journal.fg, 131 * US, 180 * US, io=log, stack=["do_get_write_access"])


def client_beside_backup() -> tuple[Journal, int]:
    """The backup asked for the commit."""
    journal = Journal(own=500, others=1)
    client = journal.synth.task("client", target=True)
    journal.synth.sleep(
        journal.bg, 106 * US, 190 * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT
    )
    return journal, client


@pytest.mark.parametrize(
    ("askers", "guilty"),
    [(["backup"], True), (["backup", "client"], False), (["client"], False), ([], False)],
)
def test_a_commit_that_only_the_background_asked_for(askers: list[str], guilty: bool) -> None:
    """The writer has most of its blocks, but waits for one in the log, not for the commit."""
    journal = Journal(own=500, others=1)
    synth = journal.synth
    for comm in askers:
        who = journal.bg if comm == "backup" else synth.task(comm)
        synth.sleep(who, 106 * US, 190 * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    commit_with_the_writers_blocks(journal)
    assert brief(found(synth)) == ([("io_dependency", "backup", 49, 1)] if guilty else [])


def waiting(journal: Journal, who: int, waits: list[tuple[int, int]], stack: str = "") -> Synth:
    """The journal thread commits until 190; *who* waits for commits, the writer for its log."""
    synth, end = journal.synth, waits[-1][1]
    synth.request(who, 101 * US, (end + 5) * US)
    frames = ["schedule", "jbd2_log_wait_commit", *stack.split()]
    for begin, woken in waits:
        synth.sleep(
            who,
            begin * US,
            woken * US,
            waker=journal.jbd2,
            reason=WaitReason.JOURNAL_COMMIT,
            stack=frames,
        )
    commit_with_the_writers_blocks(journal)
    return synth


@pytest.mark.parametrize(
    ("waits", "guilty"),
    [
        ([(106, 190)], False),
        # It came when that commit was under way, and asked for the one after it.
        ([(106, 190), (192, 250)], True),
    ],
)
def test_who_waits_for_another_commit_afterwards_did_not_ask_for_this_one(
    waits: list[tuple[int, int]], guilty: bool
) -> None:
    """The backup asked for it; a client waits too, from 106 on."""
    journal, client = client_beside_backup()
    journal.synth.commit(journal.jbd2, 195 * US, 250 * US, transaction=2)
    rows = brief(found(waiting(journal, client, waits)))
    of_client, of_writer = ("condition", "backup", 84, 1), ("io_dependency", "backup", 49, 1)
    assert rows == ([of_client, of_writer] if guilty else [])


def test_a_second_syscall_asks_for_itself() -> None:
    """The client's first fsync was over when its second began."""
    journal, client = client_beside_backup()
    synth = waiting(journal, client, [(106, 190)])
    synth.commit(journal.jbd2, 200 * US, 250 * US, transaction=2)
    synth.request(client, 198 * US, 255 * US)
    synth.sleep(client, 199 * US, 250 * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    assert brief(found(synth)) == []


def test_after_another_journals_commit_it_may_have_asked_for_both() -> None:
    """A sync of two file systems."""
    journal, client = client_beside_backup()
    synth = waiting(journal, client, [(106, 190)])
    other = synth.task("jbd2/sdb-8", kthread=True)
    synth.request(client, 99 * US, 255 * US)
    synth.sleep(client, 192 * US, 250 * US, waker=other, reason=WaitReason.JOURNAL_COMMIT)
    assert brief(found(synth)) == []


def test_a_syscall_that_was_not_recorded_is_not_the_one_before() -> None:
    journal, client = client_beside_backup()
    synth = waiting(journal, client, [(106, 190)])
    synth.commit(journal.jbd2, 390 * US, 450 * US, transaction=2)
    synth.sleep(client, 399 * US, 450 * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT)
    assert brief(found(synth)) == []


def test_who_sleeps_again_at_once_is_still_in_its_syscall() -> None:
    """Of the client no syscalls were recorded."""
    journal, client = client_beside_backup()
    synth = waiting(journal, journal.bg, [(106, 190)])
    for begin, woken in ((110, 190), (192, 250)):
        synth.sleep(
            client, begin * US, woken * US, waker=journal.jbd2, reason=WaitReason.JOURNAL_COMMIT
        )
    synth.commit(journal.jbd2, 195 * US, 250 * US, transaction=2)
    assert brief(found(synth)) == [("io_dependency", "backup", 49, 1)]


@pytest.mark.parametrize(("woken", "guilty"), [(104, True), (140, False)])
def test_who_comes_when_a_commit_is_under_way_did_not_ask_for_it(woken: int, guilty: bool) -> None:
    """Before it waited for the commit, at 150, the backup waited for its data."""
    journal = Journal(own=500, others=1)
    synth = journal.synth
    data = synth.io(journal.bg, 100 * US, woken * US)
    synth.sleep(journal.bg, 101 * US, woken * US, io=data, stack=["folio_wait_writeback"])
    rows = brief(found(waiting(journal, journal.bg, [(150, 190)])))
    rows = [row for row in rows if row[0] == "io_dependency"]
    assert rows == ([("io_dependency", "backup", 49, 1)] if guilty else [])


@pytest.mark.parametrize(("others", "guilty"), [(900, True), (100, False)])
def test_a_commit_that_makes_room_is_for_who_filled_the_journal(others: int, guilty: bool) -> None:
    """Nobody asked for it. The client waits for room, the writer for one of its blocks."""
    journal = Journal(own=500, others=others)
    client = journal.synth.task("client", target=True)
    full = "__jbd2_log_wait_for_space add_transaction_credits start_this_handle"
    rows = brief(found(waiting(journal, client, [(106, 190)], full)))
    of_writer = [row[2] for row in rows if row[0] == "io_dependency"]
    assert of_writer == ([49] if guilty else [])
