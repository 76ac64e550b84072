"""Whose data an io carries, worked out by hand."""

from __future__ import annotations

from rcp.analyzer.arrays.trace import OP_DISCARD
from rcp.analyzer.blame.causes import CAUSE_KINDS, io_causes
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.fixtures.synth import DEVICE, Synth
from rcp.probes.contract.events import RECORDS


def causes(synth: Synth) -> list[tuple[str, dict[str, float]]]:
    """Kind and shares by name of each io's causes; of its submitter alone: no shares."""
    trace = build_trace({record.name: synth.records(record) for record in RECORDS}, [], {})
    found, rows = io_causes(trace), []
    for kind, at in zip(found.kind, found.of_io, strict=True):
        members = slice(*found.sets.start[at : at + 2]) if at >= 0 else slice(0)
        names = [trace.tasks.comm[utid] for utid in found.sets.utid[members]]
        shares = [round(float(share), 3) for share in found.sets.share[members]]
        rows.append((CAUSE_KINDS[kind], dict(zip(names, shares, strict=True))))
    return rows


def test_io_nothing_else_is_known_of_is_its_submitters() -> None:
    synth = Synth()
    synth.io(synth.task("a"), 10, 20)
    assert causes(synth) == [("submitter", {})]


def test_pages_are_their_dirtiers_whoever_submits_them() -> None:
    synth = Synth()
    a, b, flusher = synth.task("a"), synth.task("b"), synth.task("kworker", kthread=True)
    io = synth.io(flusher, 10, 20)
    synth.cause(io, a, n_pages=3)
    synth.cause(io, b, n_pages=1, ino=1)
    synth.cause(io, b, n_pages=4, ino=2)
    synth.cause(99, a)  # an io that was lost
    assert causes(synth) == [("dirtier", {"a": 0.375, "b": 0.625})]


def journal() -> tuple[Synth, int, int, int]:
    """Transaction 7, with 3 handles of a's and 1 of b's, committed from 100 to 200."""
    synth = Synth()
    a, b = synth.task("a"), synth.task("b")
    jbd2 = synth.task("jbd2/sda-8", kthread=True)
    synth.handle(a, 50, 60, transaction=7, n=3)
    synth.handle(b, 55, 65, transaction=7)
    synth.handle(b, 105, 110, transaction=8)
    synth.commit(jbd2, 100, 200, transaction=7)
    return synth, a, b, jbd2


def test_what_a_file_system_discards_is_of_whose_transaction_freed_it() -> None:
    """It is the one that was committed last; a task discards for itself."""
    synth, a, _, jbd2 = journal()
    worker = synth.task("kworker/u4:1", kthread=True)
    synth.io(worker, 90, 95, op=OP_DISCARD)  # nothing is known of what was committed before
    synth.io(jbd2, 110, 150)
    synth.io(worker, 210, 260, op=OP_DISCARD)
    synth.io(worker, 210, 260, op=OP_DISCARD, dev=DEVICE + 1)
    synth.io(a, 210, 260, op=OP_DISCARD)
    shares = {"a": 0.75, "b": 0.25}
    other: tuple[str, dict[str, float]] = ("submitter", {})
    assert causes(synth) == [other, ("journal", shares), ("dirtier", shares), other, other]


def test_log_is_the_contributors_of_the_transaction_it_commits() -> None:
    synth, a, _, jbd2 = journal()
    synth.io(jbd2, 99, 150)  # before the commit
    synth.io(jbd2, 100, 150)
    synth.io(jbd2, 199, 250)
    synth.io(jbd2, 200, 250)  # after it
    synth.io(a, 150, 160)
    log = ("journal", {"a": 0.75, "b": 0.25})
    other: tuple[str, dict[str, float]] = ("submitter", {})
    assert causes(synth) == [other, log, log, other, other]


def test_ordered_data_flushed_by_a_commit_is_its_dirtiers() -> None:
    synth, _, b, jbd2 = journal()
    synth.cause(synth.io(jbd2, 120, 150), b)
    assert causes(synth) == [("dirtier", {"b": 1.0})]


def test_flushers_handles_are_the_dirtiers_of_what_it_flushes() -> None:
    """Its one handle maps blocks for two ios: one of b's pages, one of a's and b's."""
    synth, a, b, jbd2 = journal()
    flusher = synth.task("kworker", kthread=True)
    synth.handle(flusher, 70, 80, transaction=7, n=4)
    synth.cause(synth.io(flusher, 60, 90), a, n_pages=9)  # before the handle
    synth.cause(synth.io(flusher, 75, 90), b)
    mixed = synth.io(flusher, 81, 95)
    synth.cause(mixed, a)
    synth.cause(mixed, b)
    synth.io(jbd2, 150, 160)
    # 3 of a's and 1 of b's own, 4 flushed: of the first io 2 for b, of the second 1 each.
    assert causes(synth)[-1] == ("journal", {"a": 0.5, "b": 0.5})


def test_handles_without_a_commit_and_a_commit_without_handles() -> None:
    synth = Synth()
    a, jbd2 = synth.task("a"), synth.task("jbd2/sda-8", kthread=True)
    synth.handle(a, 50, 60, transaction=1)
    synth.commit(jbd2, 100, 200, transaction=2)
    synth.io(jbd2, 150, 160)
    assert causes(synth) == [("submitter", {})]
