"""What the patched kernel made critical: events in, rows and sentences out."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from rcp.analyzer.reports import render, report, story
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import FoundBy, Mechanism, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load

MS = 1_000_000
US = 1_000


def boosted_commit() -> Synth:
    """An fsync that waits for jbd2, whose write is queued behind two of a backup.

    The fsync (0 to 40 ms) sleeps from 2 to 38 ms. jbd2's write is queued from 5 to 20 ms and was
    promoted at 9 ms: of the backup's three writes one was issued at 8 ms, two at 30 ms.
    """
    synth = Synth([("background", "comm:backup")])
    fg = synth.task("writer", tid=10, target=True)
    jbd2 = synth.task("jbd2/nvme0n1-8", tid=11)
    bg = synth.task("backup", tid=20)
    synth.request(fg, 0, 40 * MS)
    for issued in (8 * MS, 30 * MS, 30 * MS):
        synth.io(bg, 0, 35 * MS, got=1 * MS, issued=issued)
    io = synth.io(jbd2, 4 * MS, 36 * MS, got=5 * MS, issued=20 * MS)
    synth.lend(fg, 2 * MS - 20 * US, jbd2, Mechanism.COMMIT)
    synth.promote(fg, 9 * MS, io, 4 * MS, FoundBy.TASK)
    synth.sleep(jbd2, 6 * MS, 36 * MS, io=io, reason=WaitReason.PAGE_WRITEBACK)
    synth.sleep(fg, 2 * MS, 38 * MS, waker=jbd2, reason=WaitReason.JOURNAL_COMMIT)
    return synth


def test_loans_and_promotions_are_rows(ask: Ask) -> None:
    sql = """
        SELECT kind, waiter.comm, mechanism, helper.comm, depth, io_id, queued_dur, found_by
        FROM inheritance
        JOIN task AS waiter USING (utid)
        LEFT JOIN task AS helper ON helper.utid = helper_utid
        ORDER BY inheritance_id
    """
    assert ask(boosted_commit(), sql) == [
        ("loan", "writer", "commit", "jbd2/nvme0n1-8", 1, None, None, None),
        ("promotion", "writer", None, None, None, 4, 4 * MS, "task"),
    ]


def test_a_path_says_who_was_boosted_by_whom(load: Load) -> None:
    texts = [line.text for line in story.request_story(load(boosted_commit()), 1)]
    assert (
        "writer waits: journal_commit (boosts jbd2/nvme0n1-8), until woken by jbd2/nvme0n1-8 "
        "(unknown)"
    ) in texts
    assert (
        "its write of 4 KiB on nvme0n1 waits in the scheduler (queue), boosted by writer after "
        "4 ms, would have waited behind 2 older ios"
    ) in texts


def test_a_chain_of_a_lock_and_a_handle_says_whom_each_wait_boosts(load: Load) -> None:
    """A write waits for an inode lock, its owner for jbd2, and jbd2 for a truncate's handle."""
    synth = Synth([("background", "comm:rm")])
    fg = synth.task("writer", tid=10, target=True)
    owner, jbd2 = synth.task("resizer", tid=11), synth.task("jbd2/nvme0n1-8", tid=12)
    holder = synth.task("rm", tid=20)
    synth.request(fg, 0, 40 * MS)
    synth.lend(fg, 2 * MS - 20 * US, owner, Mechanism.RWSEM)
    synth.lend(owner, 2 * MS - 15 * US, jbd2, Mechanism.LOCKED)
    synth.lend(jbd2, 2 * MS - 10 * US, holder, Mechanism.HANDLE)
    synth.sleep(jbd2, 1 * MS, 30 * MS, waker=holder, reason=WaitReason.JOURNAL_HANDLE)
    synth.sleep(owner, 1 * MS, 33 * MS, waker=jbd2, reason=WaitReason.JOURNAL_HANDLE)
    synth.sleep(fg, 2 * MS, 35 * MS, waker=owner, reason=WaitReason.LOCK)
    text = "\n".join(line.text for line in story.request_story(load(synth), 1))
    assert "writer waits: lock (boosts resizer)" in text
    assert "resizer waits: journal_handle (boosts jbd2/nvme0n1-8)" in text
    assert "jbd2/nvme0n1-8 waits: journal_handle (boosts rm)" in text
    found = report.report(load(synth)).inheritance
    assert {one.mechanism for one in found if one.kind == "loan"} == {"rwsem", "locked", "handle"}


def test_a_loan_belongs_to_the_sleep_that_follows_or_goes_on(ask: Ask) -> None:
    synth = Synth()
    fg, other = synth.task("writer", tid=10, target=True), synth.task("helper", tid=11)
    synth.request(fg, 0, 90 * MS)
    synth.sleep(fg, 10 * MS, 20 * MS)
    synth.sleep(fg, 30 * MS, 40 * MS)
    synth.sleep(fg, 60 * MS, 80 * MS)
    at = (
        (10 * MS - 1, "just before the first"),
        (35 * MS, "within the second"),
        (45 * MS, "long before the third, which is another wait"),
        (59 * MS, "1 ms before the third"),
        (85 * MS, "after all"),
    )
    for ts, _ in at:
        synth.lend(fg, ts, other, Mechanism.PAGE)
    sql = "SELECT inheritance_id, sleep.ts FROM loan_wait JOIN sleep USING (sleep_id) ORDER BY ALL"
    assert ask(synth, sql) == [(1, 10 * MS), (2, 30 * MS), (4, 60 * MS)]


def test_the_report_says_what_was_ended_and_what_was_missed(load: Load) -> None:
    synth = boosted_commit()
    # Another fsync waits for the backup's own io, which nobody promoted.
    fg = synth.task("writer", tid=12, target=True)
    synth.request(fg, 100 * MS, 131 * MS)
    io = synth.io(20, 90 * MS, 130 * MS, got=91 * MS, issued=92 * MS)
    synth.sleep(fg, 100 * MS, 130 * MS, io=io, reason=WaitReason.PAGE_WRITEBACK)
    text = render.report_text(report.report(load(synth)))
    did = text.partition("What the kernel made critical\n")[2].partition("\n\n")[0]
    lines = [line.split() for line in did.splitlines()]
    assert ["boosted", "a", "task", "commit", "1", "1", "-", "-"] in lines
    assert ["boosted", "a", "queued", "io", "task", "1", "1", "4.00", "ms", "4.00", "ms"] in lines
    title = "Inversions that the kernel ended and missed\n"
    assert text.partition(title)[2].partition("\n\n")[0].splitlines() == [
        "  mechanism  ended  in requests  still took  missed  in requests    total      max",
        "  device         0            0        0 ns       1            1  30.0 ms  30.0 ms",
        "  journal        1            1     22.0 ms       0            0     0 ns        -",
        "  queue          1            1     14.0 ms       0            0     0 ns        -",
    ]
    told = json.loads(render.report_as("json", report.report(load(synth))))
    assert [
        (one["mechanism"], one["n_ended"], one["n_missed"]) for one in told["ended_and_missed"]
    ] == [
        ("device", 0, 1),
        ("journal", 1, 0),
        ("queue", 1, 0),
    ]


def test_without_inheritance_nobody_hears_of_it(load: Load) -> None:
    synth = Synth()
    synth.request(synth.task("writer", target=True), 100, 200)
    found = report.report(load(synth))
    assert found.inheritance == []
    assert found.ended_and_missed == []
    assert "the kernel ended" not in render.report_text(found)
    assert "made critical" not in render.report_text(found)


def test_what_a_newer_kernel_did_is_shown_without_a_name(load: Load) -> None:
    synth = boosted_commit()
    synth.lend(10, 3 * MS, 11, 99)  # type: ignore[arg-type]
    found = report.report(load(synth))
    assert [row.mechanism for row in found.inheritance if row.kind == "loan"] == ["commit", None]
    assert "boosted a task       ?" in render.report_text(found)
