"""Commits that would not have run without a culprit, and those that others need too."""

from collections.abc import Callable

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import BACKUP, JBD2, READER, ns, predicted, world
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import WaitReason

Load = Callable[[Synth], Store]


def one_after_another() -> Synth:
    """A commit that the backup has joined too, and then another: an fsync meets both.

    The first ends at 10,500: 440 ns of the wait, and then 10 + 500 + 50 are the reader's.
    """
    synth = world()
    synth.handle(BACKUP, 9_500, 9_600, transaction=1)
    synth.handle(READER, 9_700, 9_800, transaction=1)
    synth.handle(READER, 10_100, 10_200, transaction=2)
    synth.commit(JBD2, 10_000, 10_500, transaction=1)
    synth.commit(JBD2, 10_500, 11_000, transaction=2)
    synth.request(READER, 10_050, 11_050)
    synth.sleep(READER, 10_060, 11_000, waker=JBD2, reason=WaitReason.JOURNAL_COMMIT)
    return synth


def test_a_commit_for_the_culprit_alone_goes_and_a_shared_one_stays(load: Load) -> None:
    synth = world()
    for ts, transaction in ((10_000, 1), (20_000, 2)):
        synth.handle(BACKUP, ts - 500, ts - 400, transaction=transaction)
        synth.commit(JBD2, ts, ts + 1000, transaction=transaction)
        log = synth.io(JBD2, ts + 100, ts + 900)
        synth.sleep(JBD2, ts + 100, ts + 900, io=log)
        synth.request(READER, ts, ts + 1000)
        synth.sleep(READER, ts + 50, ts + 950, waker=JBD2, reason=WaitReason.JOURNAL_COMMIT)
    synth.handle(READER, 19_500, 19_600, transaction=2)
    # Of the first, 50 ns before and after are the reader's own; jbd2 works for the backup only. Of
    # the second, a 13th of 50 ns on a CPU is for the backup's block: it has half of an io of one,
    # and the commit's own work is as much as 5.5.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [100, 997]


def test_of_two_commits_the_culprits_own_one_would_not_have_run(load: Load) -> None:
    synth = one_after_another()
    for ts in (10_000, 10_500):
        synth.sleep(JBD2, ts + 100, ts + 400, io=synth.io(JBD2, ts + 100, ts + 400))
    assert ns(predicted(load(synth), "backup").predicted_ns) == [560]


def test_a_commit_stays_that_others_joined_without_a_block_of_their_own(load: Load) -> None:
    """The culprit was the first to change the block that both need."""
    synth = world()
    synth.handle(BACKUP, 9_500, 9_600, blocks=1)
    synth.handle(READER, 9_700, 9_800, blocks=0)
    synth.commit(JBD2, 10_000, 11_000)
    log = synth.io(JBD2, 10_100, 10_900)
    synth.sleep(JBD2, 10_100, 10_900, io=log)
    synth.request(READER, 10_000, 11_000)
    synth.sleep(READER, 10_050, 10_950, waker=JBD2, reason=WaitReason.JOURNAL_COMMIT)
    # Of 50 ns on a CPU 1 / 6.5 is for the block: a commit's own work is as much as 5.5.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [993]


def test_a_commit_that_is_waited_for_after_an_io_was_asked_for_anew(load: Load) -> None:
    """The first of two commits has the culprit's handle, but the request needs both."""
    synth = world()
    for ts, transaction in ((10_000, 1), (11_000, 2)):
        for tid in (READER, BACKUP):
            synth.handle(tid, ts - 500, ts - 400, transaction=transaction)
        synth.commit(JBD2, ts, ts + 500, transaction=transaction)
        synth.sleep(JBD2, ts + 100, ts + 400, io=synth.io(JBD2, ts + 100, ts + 400))
        synth.sleep(READER, ts + 20, ts + 480, waker=JBD2, reason=WaitReason.JOURNAL_COMMIT)
        synth.sleep(READER, ts + 600, ts + 800, io=synth.io(READER, ts + 600, ts + 800))
    synth.request(READER, 10_000, 11_900)
    # On a CPU a 13th is for the culprit's block: of 80 ns before each log, and 80 after the first.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [1_900 - 18]


def test_what_a_commit_waits_for_in_another_journal_is_part_of_it(load: Load) -> None:
    """That of a loop device waits for one of the file system below, and for an io of that."""
    synth = one_after_another()
    below = synth.task("jbd2/sda-8", tid=6, kthread=True)
    for ts in (10_000, 10_500):
        synth.commit(below, ts + 90, ts + 400, transaction=ts, dev=DEVICE + 9)
        synth.sleep(below, ts + 100, ts + 390, io=synth.io(below, ts + 100, ts + 390))
        synth.sleep(JBD2, ts + 80, ts + 400, waker=below, reason=WaitReason.JOURNAL_COMMIT)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [560]
