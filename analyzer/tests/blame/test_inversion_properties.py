"""Whatever a recording contradicts itself with, verdicts stay within what they are about.

Recordings here are random: waits in circles, wakers nobody recorded, thread ids used twice, ios
that overlap, never end or end before they begin, tasks that exit while they wait, losses.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.roles import ROLE_CODE, UNKNOWN, RoleRule
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.candidates import KINDS
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.inversions import Inversions, find_inversions
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.critical_path import critical_paths
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS, WaitReason

FOREGROUND_TIDS, BACKGROUND_TIDS, KERNEL_TIDS, N_TIDS = (1, 2), (3, 4), (5, 6), 8
RULES = [RoleRule("foreground", "comm:fg*"), RoleRule("background", "comm:bg*")]
STACKS = {
    number: [frame]
    for number, frame in enumerate(
        (
            "blk_mq_get_tag",
            "rq_qos_wait",
            "folio_wait_writeback",
            "pipe_read",
            "worker_thread",
            "mystery",
        )
    )
}

TIDS = st.integers(1, N_TIDS)
SOMEBODY = st.integers(0, N_TIDS)
# Few and far apart: events fall on one another, and intervals are longer than what is ignored.
TIMES = st.integers(1, 30).map(lambda step: step * 30_000)
FLAGS = st.sampled_from((0, 1, 2, 1 | 1 << 18, 1 | 1 << 17))

SLEEP = st.fixed_dictionaries(
    {
        "tid": st.sampled_from((1, 1, 1, 2, 3, 4, 5, 6, 7, 8)),
        "times": st.tuples(TIMES, TIMES, TIMES),
        "waker": SOMEBODY,
        "io": st.integers(0, 6),  # of which not all were recorded
        "owner": SOMEBODY,
        "ran": SOMEBODY,
        "reason": st.sampled_from(WaitReason),
        "stack": st.integers(-1, len(STACKS) - 1),
        "interrupt": st.booleans(),
        "first_seen": st.booleans(),
        "cpu_max": st.booleans(),
    }
)
SIZES, SECTORS = st.sampled_from((0, 4096, 1 << 20)), st.sampled_from((0, 8, 9999, 2**64 - 1))
IO = st.tuples(SOMEBODY, TIMES, TIMES, TIMES, TIMES, FLAGS, SIZES, SECTORS)
CAUSE = st.tuples(st.integers(0, 6), TIDS, st.integers(0, 9))
COMMIT = st.tuples(st.sampled_from(KERNEL_TIDS), TIMES, TIMES, st.integers(1, 3), st.booleans())
HANDLE = st.tuples(TIDS, TIMES, TIMES, st.integers(1, 3))
THROTTLE = st.tuples(TIDS, TIMES)
REFAULT = st.tuples(TIDS, TIMES, st.integers(0, 300), st.integers(0, 9), st.integers(0, 300))
REQUEST = st.tuples(st.sampled_from((1, 1, 2, 3, 8)), TIMES, TIMES, st.integers(0, 4).map(bool))

RECORDING = st.fixed_dictionaries(
    {
        "sleeps": st.lists(SLEEP, min_size=4, max_size=20),
        "ios": st.lists(IO, min_size=2, max_size=5),
        "causes": st.lists(CAUSE, max_size=5),
        "commits": st.lists(COMMIT, max_size=3),
        "handles": st.lists(HANDLE, max_size=5),
        "throttles": st.lists(THROTTLE, max_size=3),
        "refaults": st.lists(REFAULT, max_size=4),
        "requests": st.lists(REQUEST, max_size=4),
        "reused": st.lists(st.tuples(TIDS, TIMES), max_size=2),
    }
)


def build(recording: dict[str, Any], rules: list[RoleRule]) -> Trace:
    synth = Synth()
    for tid in range(1, N_TIDS):  # the last one is never described
        kind = {1: "fg", 2: "bg", 3: "kworker"}.get((tid + 1) // 2, "nobody")
        synth.task(f"{kind}{tid}", tid, kthread=tid in KERNEL_TIDS)
    for tid, start in recording["reused"]:
        synth.task("nobody", tid, ts=start, start_ns=start, exited=start % 2 == 0)
    for submitter, q, g, d, c, flags, size, sector in recording["ios"]:
        synth.io(submitter, q, c, got=g, issued=d, op=flags, size=size, ino=9, sector=sector)
    for sleep in recording["sleeps"]:
        ts, woken, run = sorted(sleep["times"])
        stack = STACKS.get(sleep["stack"], [])
        kept = ("waker", "io", "owner", "ran", "reason", "interrupt", "cpu_max")
        options = {name: sleep[name] for name in kept}
        begin = 0 if sleep["first_seen"] else ts
        synth.sleep(sleep["tid"], begin, woken, run, stack=stack, first_seen=not begin, **options)
    for io, tid, pages in recording["causes"]:
        synth.cause(io, tid, n_pages=pages)
    for tid, a, b, transaction, finished in recording["commits"]:
        synth.commit(tid, min(a, b), max(a, b) * finished, transaction=transaction)
    for tid, a, b, transaction in recording["handles"]:
        synth.handle(tid, min(a, b), max(a, b), transaction=transaction)
    for tid, ts in recording["throttles"]:
        synth.throttle(tid, ts)
    for tid, ts, pages, cgroup, limit in recording["refaults"]:
        synth.refault(tid, ts, n_pages=pages, cgroup_id=cgroup, limit_pages=limit)
    for tid, a, b, finished in recording["requests"]:
        synth.request(tid, min(a, b), max(a, b) * finished)
    synth.request(1, 60_000, 900_000)  # something always happens meanwhile
    return build_trace({r.name: synth.records(r) for r in RECORDS}, rules, synth._stacks)


def verdict(trace: Trace, recorded_share: float = 1.0) -> Inversions:
    paths = critical_paths(trace.sleeps, trace.ios, trace.requests, len(trace.tasks))
    return find_inversions(trace, paths, io_causes(trace), {}, recorded_share)


SLOW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(RECORDING, st.floats(0, 1))
def test_verdicts_stay_within_their_requests(recording: dict[str, Any], share: float) -> None:
    trace = build(recording, RULES)
    found = verdict(trace, share)
    held_up = np.zeros(len(trace.requests), np.int64)
    np.add.at(held_up, found.request, found.dur)
    assert (held_up <= np.maximum(trace.requests.dur, 0)).all()
    assert (found.dur > 0).all()
    begin = trace.requests.ts[found.request]
    assert (found.ts >= begin).all()
    assert (found.ts + found.dur <= begin + trace.requests.dur[found.request]).all()
    assert ((found.confidence >= 0) & (found.confidence <= share + 1e-9)).all()
    assert set(found.kind.tolist()) <= set(range(len(KINDS)))
    assert (found.depth >= 0).all()
    beside = found.beside
    assert (beside.n_ios >= 0).all()
    assert (beside.bytes >= 0).all()
    assert (beside.n_ios <= beside.n_all).all()
    assert (beside.bytes <= beside.bytes_all).all()
    if len(found):
        assert found.chain.max() < len(found.chains) == len(found.patterns)


@SLOW
@given(RECORDING)
def test_without_background_only_the_unknown_are_suspected(recording: dict[str, Any]) -> None:
    trace = build(recording, RULES[:1])
    found = verdict(trace)
    assert (trace.tasks.role[found.culprit] == ROLE_CODE[UNKNOWN]).all()
    assert (found.confidence <= 0.5).all()


@SLOW
@given(RECORDING)
def test_when_everybody_is_foreground_there_is_no_inversion(recording: dict[str, Any]) -> None:
    everybody = [RoleRule("foreground", "comm:*")]
    assert len(verdict(build(recording, everybody))) == 0


@SLOW
@given(RECORDING)
def test_shares_of_a_cause_set_add_up_to_one(recording: dict[str, Any]) -> None:
    trace = build(recording, RULES)
    causes = io_causes(trace)
    total = np.zeros(len(causes.sets))
    np.add.at(total, causes.sets.of_member, causes.sets.share)
    assert np.allclose(total, 1)
    assert (causes.sets.share > 0).all()
    assert (causes.of_io < len(causes.sets)).all()
    assert (np.diff(causes.sets.start) > 0).all()
