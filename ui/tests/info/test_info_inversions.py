"""Synthetic recording in, patterns of inversions out, and what filters leave of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.reports import report
from rcp.fixtures.explored import journal
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import WaitReason
from rcp.ui.info import inversions
from rcp.ui.info.population import kinds
from rcp.ui.source import demo_recording, prepare_inversions, prepare_requests
from rcp.ui.tests.test_patterns_list import two_patterns

RECORDINGS = demo_recording().parent
Load = Callable[[Synth], Store]
OF = ("foreground", "")


def numbered(one: Any, chain: str) -> tuple[str, ...]:
    """What a number of the report stands for."""
    return one.kind, one.culprit, one.role_rule, chain


def test_patterns_are_ranked_by_what_the_slowest_lost(load: Load) -> None:
    (found,) = inversions.patterns(load(journal(3)), *OF, inversions.Filter())
    assert (found.kind, found.culprit, found.role) == ("condition", "checkpointer", "background")
    assert (found.n_requests, found.max_ns) == (3, 740)
    assert found.total_ns == found.slow_ns == 3 * 740  # all are as slow as the slowest
    assert found.slow_share == pytest.approx(0.74)


@pytest.mark.parametrize("path", sorted(RECORDINGS.glob("*.spool.tar.xz")), ids=lambda at: at.stem)
def test_patterns_have_the_reports_numbers(path: Path) -> None:
    with open_recording(path) as store:
        prepare_requests(store)
        prepare_inversions(store)
        told = {numbered(one, one.chain): one.rank for one in report.patterns(store)}
        for of in (OF, ("", ""), *((kind.role, kind.name) for kind in kinds(store))):
            found = inversions.patterns(store, *of, inversions.Filter())
            assert [one.rank for one in found] == [
                told[numbered(one, one.pattern)] for one in found
            ]


def test_numbers_are_by_time_whatever_the_order_of_the_list(load: Load) -> None:
    store = load(two_patterns())
    told = [(one.rank, one.culprit) for one in report.patterns(store)]
    assert told == [(1, "checkpointer"), (2, "backup")]
    # The slowest 1 % lost more to the second one, which is first in the list for it.
    found = inversions.patterns(store, *OF, inversions.Filter())
    assert [(one.rank, one.culprit) for one in found] == told[::-1]
    assert found[0].title == "#2 condition by backup"


@pytest.mark.parametrize(
    ("asked", "n_requests"),
    [
        (inversions.Filter(from_s=0.001), 2),
        (inversions.Filter(to_s=0.001), 1),
        (inversions.Filter(from_s=0.001, to_s=0.002), 1),
        (inversions.Filter(kind="condition"), 3),
        (inversions.Filter(kind="lock"), 0),
        (inversions.Filter(culprit="checkpointer"), 3),
        (inversions.Filter(culprit="nobody"), 0),
        (inversions.Filter(path="base/table"), 3),
        (inversions.Filter(path="other"), 0),
        (inversions.Filter(cgroup=1), 3),
        (inversions.Filter(cgroup=2), 0),
    ],
)
def test_filters_leave_out(load: Load, asked: inversions.Filter, n_requests: int) -> None:
    found = inversions.patterns(load(journal(3)), *OF, asked)
    assert sum(pattern.n_requests for pattern in found) == n_requests


@pytest.mark.parametrize(("cgroup", "dur_ns"), [(None, 700), (1, 500), (2, 200)])
def test_a_request_held_up_from_two_cgroups_counts_once(
    load: Load, cgroup: int | None, dur_ns: int
) -> None:
    synth = Synth([("background", "comm:worker")])
    writer = synth.task("writer", tid=10, target=True)
    first = synth.task("worker", tid=20, cgroup_id=1)
    second = synth.task("worker", tid=21, cgroup_id=2)
    for worker in (first, second):
        synth.sleep(worker, 1, 2)
    synth.request(writer, 1000, 2000)
    synth.sleep(writer, 1000, 1500, waker=first, reason=WaitReason.LOCK, stack=["down_read"])
    synth.sleep(writer, 1600, 1800, waker=second, reason=WaitReason.LOCK, stack=["down_read"])
    asked = inversions.Filter(cgroup=cgroup)
    (found,) = inversions.patterns(load(synth), *OF, asked)
    assert (found.n_requests, found.total_ns) == (1, dur_ns)


@pytest.mark.parametrize(("path", "n_requests"), [("base/table", 1), ("base/other", 0)])
def test_a_file_is_not_that_of_another_file_system(load: Load, path: str, n_requests: int) -> None:
    synth = journal(1)
    synth.file(77, "other", "base", dev=8 << 20)
    found = inversions.patterns(load(synth), *OF, inversions.Filter(path=path))
    assert sum(pattern.n_requests for pattern in found) == n_requests


def test_filters_offer_what_there_is(load: Load) -> None:
    assert inversions.choices(load(journal())) == inversions.Choices(
        ["condition"], ["checkpointer"], ["1"], ["base/table"]
    )


def test_a_pattern_leads_to_its_requests(load: Load) -> None:
    store = load(journal(2))
    (pattern,) = inversions.patterns(store, *OF, inversions.Filter())
    found = inversions.held_up(store, *OF, inversions.Filter(), pattern)
    assert [(held.request_id, held.offset_ns, held.held_up_ns) for held in found] == [
        (1, 0, 740),
        (2, 1_000_000, 740),
    ]


@pytest.mark.parametrize(
    ("pattern", "sentence"),
    [
        (
            "fsync → journal_commit (jbd2) → journal_handle (cp) → admission_slot → io by cp",
            "fsync waits for jbd2 (journal_commit), which waits for cp (journal_handle), which "
            "waits (admission_slot) for an io by cp",
        ),
        (
            "fsync → runqueue behind cp",
            "fsync waits for a CPU while cp runs (runqueue)",
        ),
        (
            "fsync → buffer_lock → io by jbd2 → device shared with cp",
            "fsync waits (buffer_lock) for an io by jbd2, which shares the device with cp",
        ),
        (
            "fsync → journal_commit (jbd2) for cp",
            "fsync waits for jbd2 (journal_commit), which works for cp",
        ),
        (
            "write → file_lock (cp) × n → device",
            "write waits for cp (file_lock), again and again, which waits (device)",
        ),
    ],
)
def test_a_chain_is_told_as_a_sentence(pattern: str, sentence: str) -> None:
    assert inversions.sentence(pattern) == sentence
