"""Peers without a role serve the request; a known background task comes before an unknown one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.roles import BACKGROUND, ROLE_CODE, RoleRule
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.inversions import Inversions, find_inversions
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.threads import paths_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS, WaitReason

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
PEER_STACKS = (
    ["pipe_read"],
    ["unix_stream_read_generic"],
    ["ep_poll"],
    ["do_poll"],
    ["inet_csk_accept"],
    ["request_wait_answer", "__fuse_simple_request"],
    ["eventfd_read"],
    ["flock_lock_inode_wait"],
)
MS = 1_000_000


def served(stack: list[str], server: str = "server") -> tuple[Synth, int]:
    """Foreground waits for a server, which waits for an io of its own from 20 to 80 ms."""
    synth = Synth(ROLES)
    fg, peer = synth.task("fg", 10), synth.task(server, 20)
    synth.request(fg, 0, 100 * MS, nr=0)
    synth.sleep(fg, 10 * MS, 90 * MS, waker=peer, stack=stack)
    io = synth.io(peer, 20 * MS, 80 * MS, issued=30 * MS)
    synth.sleep(peer, 20 * MS, 80 * MS, io=io, stack=["folio_wait_writeback"])
    return synth, peer


@pytest.mark.parametrize("stack", PEER_STACKS, ids=lambda stack: stack[0])
def test_a_peers_own_io_is_no_inversion(inversions: Rows, stack: list[str]) -> None:
    assert inversions(served(stack)[0]) == []


@pytest.mark.parametrize("stack", PEER_STACKS, ids=lambda stack: stack[0])
def test_a_background_peer_is_the_culprit(inversions: Rows, stack: list[str]) -> None:
    found = inversions(served(stack, "bg-server")[0])
    kind = "lock" if stack == ["flock_lock_inode_wait"] else "condition"
    assert [row[:3] for row in found] == [(kind, "bg-server", 80 * MS)]


@pytest.mark.parametrize("stack", [["d_alloc_parallel"], ["iget_locked"]], ids=lambda s: s[0])
def test_who_does_what_the_waiter_would_do_itself_is_no_culprit(
    inversions: Rows, stack: list[str]
) -> None:
    """Nor are the ios that it does it with; those in the way of these are, whose ever they are."""
    assert inversions(served(stack, "bg-server")[0]) == []
    for culprit in ("bg-other", "bg-server"):
        synth, peer = served(stack, "bg-server")
        by = peer if culprit == "bg-server" else synth.task(culprit)
        synth.io(by, 15 * MS, 70 * MS, issued=16 * MS, size=1 << 20)
        assert {row[1] for row in inversions(synth)} == {culprit}


def test_a_peer_of_a_peer_serves_too_and_so_do_threads_of_its_process(inversions: Rows) -> None:
    synth, peer = served(["pipe_read"])
    inner, thread = synth.task("inner", 30), synth.task("inner-io", 31, pid=30)
    synth.sleep(peer, 12 * MS, 19 * MS, waker=inner, stack=["unix_stream_read_generic"])
    synth.sleep(inner, 13 * MS, 18 * MS, waker=thread, reason=WaitReason.FUTEX)
    io = synth.io(thread, 13 * MS, 17 * MS)
    synth.sleep(thread, 13 * MS, 17 * MS, io=io, stack=["io_schedule"])
    assert inversions(synth) == []


def test_a_peers_ios_do_not_delay_the_io_it_serves_with(inversions: Rows) -> None:
    synth, peer = served(["pipe_read"])
    for n in range(4):
        synth.io(peer, (15 + n) * MS, (60 + n) * MS, size=1 << 20)
    assert inversions(synth) == []


@pytest.mark.parametrize("starter", ["fg", "server"])
@pytest.mark.parametrize(("name", "n"), [("child", 0), ("bg-child", 1)])
def test_a_program_that_is_started_and_waited_for_serves_too(
    inversions: Rows, starter: str, name: str, n: int
) -> None:
    """As an archive command does, of the server or of its peer; unless a rule says otherwise."""
    synth = Synth(ROLES)
    fg, peer = synth.task("fg", 10), synth.task("server", 20)
    child = synth.task(name, 30, ppid=fg if starter == "fg" else peer)
    synth.request(fg, 0, 100 * MS)
    if starter == "server":
        synth.sleep(fg, 10 * MS, 90 * MS, waker=peer, stack=["pipe_read"])
    parent = fg if starter == "fg" else peer
    synth.sleep(parent, 15 * MS, 85 * MS, waker=child, stack=["do_wait"])
    synth.sleep(
        child, 20 * MS, 80 * MS, io=synth.io(child, 20 * MS, 80 * MS), stack=["io_schedule"]
    )
    assert [row[:3] for row in inversions(synth)] == [("condition", "bg-child", 70 * MS)] * n


def test_a_child_that_nobody_waits_for_is_a_suspect(inversions: Rows) -> None:
    synth = Synth(ROLES)
    fg, child = synth.task("fg", 10), synth.task("child", 30, ppid=10)
    synth.request(fg, 0, 100 * MS)
    synth.sleep(fg, 10 * MS, 90 * MS, waker=child, reason=WaitReason.LOCK)
    assert [row[:3] for row in inversions(synth)] == [("lock", "child", 80 * MS)]


def test_somebody_else_may_delay_a_peer(inversions: Rows) -> None:
    synth, peer = served(["pipe_read"])
    stranger = synth.task("stranger", 40)
    synth.sleep(peer, 12 * MS, 18 * MS, waker=stranger, reason=WaitReason.LOCK)
    assert [row[:3] for row in inversions(synth)] == [("lock", "stranger", 6 * MS)]
    assert inversions(synth)[0][4] == 0.5


def test_a_peer_serves_only_the_request_that_waits_for_it(inversions: Rows) -> None:
    synth, peer = served(["pipe_read"])
    synth.request(10, 200 * MS, 300 * MS)
    synth.sleep(10, 210 * MS, 250 * MS, waker=peer, reason=WaitReason.LOCK)
    assert [row[:3] for row in inversions(synth)] == [("lock", "server", 40 * MS)]


def test_known_background_further_down_comes_before_an_unknown_task(inversions: Rows) -> None:
    synth = Synth(ROLES)
    fg, stranger, bg = synth.task("fg", 10), synth.task("stranger", 20), synth.task("bg", 30)
    synth.request(fg, 0, 100 * MS)
    synth.sleep(fg, 10 * MS, 90 * MS, waker=stranger, reason=WaitReason.LOCK)
    synth.sleep(stranger, 20 * MS, 80 * MS, waker=bg, reason=WaitReason.LOCK)
    chain = "fsync → lock (stranger) → lock (bg)"
    # What the stranger does itself, before and after, stays with it.
    assert sorted(inversions(synth)) == [
        ("lock", "bg", 60 * MS, chain, 1.0),
        ("lock", "stranger", 20 * MS, "fsync → lock (stranger)", 0.5),
    ]


def test_background_ios_ahead_of_an_unknown_tasks_io_come_before_it(inversions: Rows) -> None:
    synth = Synth(ROLES)
    fg, stranger, bg = synth.task("fg", 10), synth.task("stranger", 20), synth.task("bg", 30)
    synth.request(fg, 0, 100 * MS)
    synth.sleep(fg, 10 * MS, 90 * MS, waker=stranger, reason=WaitReason.LOCK)
    io = synth.io(stranger, 20 * MS, 80 * MS, issued=70 * MS)
    synth.sleep(stranger, 20 * MS, 80 * MS, io=io, stack=["folio_wait_writeback"])
    synth.io(bg, 15 * MS, 69 * MS, size=1 << 20)
    found = {(row[0], row[1]): row[2] for row in inversions(synth)}
    assert found == {("queue", "bg"): 50 * MS, ("lock", "stranger"): 30 * MS}


TASKS = ("fg", "one", "two", "three", "bg")  # tids 1 to 5; those without a role serve or not
KIND = st.sampled_from((*range(len(PEER_STACKS)), -1, -2))
CHAIN = st.permutations((2, 3, 4, 5)).flatmap(
    lambda tids: st.lists(KIND, min_size=1, max_size=4).map(
        lambda kinds: list(zip(kinds, tids, strict=False))
    )
)


def verdict(links: list[tuple[int, int]], end: str) -> tuple[Trace, Inversions]:
    """A chain of waits from the foreground down; its last task waits for its own io, or not."""
    synth = Synth(ROLES)
    for tid, name in enumerate(TASKS, 1):
        synth.task(name, tid)
    at, lo, hi = 1, 10 * MS, 900 * MS
    synth.request(1, 0, 1000 * MS)
    for kind, waker in links:
        stack: list[str] = PEER_STACKS[kind] if kind >= 0 else []
        reason = WaitReason.NONE if kind >= 0 else (WaitReason.LOCK, WaitReason.FUTEX)[kind]
        synth.sleep(at, lo, hi, waker=waker, stack=stack, reason=reason)
        at, lo, hi = waker, lo + 10 * MS, hi - 10 * MS
    if end == "io":
        synth.sleep(at, lo, hi, io=synth.io(at, lo, hi), stack=["io_schedule"])
    rules = [RoleRule(*rule) for rule in ROLES]
    trace = build_trace({r.name: synth.records(r) for r in RECORDS}, rules, synth._stacks)
    return trace, find_inversions(trace, paths_of(trace), io_causes(trace), {})


@settings(max_examples=80, deadline=None, suppress_health_check=list(HealthCheck))
@given(CHAIN, st.sampled_from(("io", "cpu")))
def test_who_only_serves_is_never_a_culprit(chain: list[Any], end: str) -> None:
    """Whoever is reached through peers alone serves; background is found wherever it is."""
    serving: set[int] = set()
    accused: set[int] = set()
    known = False
    for kind, waker in chain:
        if waker == 5:
            known = True
        elif kind >= 0:
            serving.add(waker)
        elif waker not in serving:
            accused.add(waker)
    trace, found = verdict(chain, end)
    tids = set(trace.tasks.tid[found.culprit].tolist())
    assert tids <= accused | ({5} if known else set()), (chain, tids)
    background = trace.tasks.role[found.culprit] == ROLE_CODE[BACKGROUND]
    assert background.any() == known
    assert (found.confidence[~background] <= 0.5).all()
    # An inversion of several segments has their mean.
    assert ((found.confidence[background] >= 0.5) & (found.confidence[background] <= 1.0)).all()
