"""Waits for a CPU: many short ones add up, and a wake-up that preempts at once is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rcp.analyzer.arrays.roles import RoleRule
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.cpu.talks import Talks
from rcp.analyzer.blame.inversions import find_inversions
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.threads import paths_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Rows

ROLES = [("foreground", "comm:fg*"), ("background", "comm:bg*")]
US = 1_000
ROUND = 200 * US
BEGIN = 10 * ROUND


def contended(n: int, wait_us: int, how: str, other: str = "bg") -> Synth:
    """The foreground runs, and waits ``n`` times for a CPU on which another one runs.

    ``preempted``: the other one takes the CPU and then sleeps. ``woken``: it has the CPU when the
    foreground is woken, and sleeps after a while. ``at once``: likewise, but it is preempted.
    """
    synth = Synth(ROLES)
    fg, bg = synth.task("fg", 10), synth.task(other, 20)
    synth.request(fg, BEGIN, BEGIN + n * ROUND)
    synth.first_seen(bg, BEGIN - ROUND)
    begin = BEGIN - 100 * US
    for number in range(n):
        at = BEGIN + number * ROUND + 100 * US
        synth.sleep(bg, begin, at, at, interrupt=True)
        if how == "preempted":
            synth.preempt(fg, at, at + wait_us * US, ran=bg)
        else:
            synth.sleep(fg, at - 50 * US, at, at + wait_us * US, interrupt=True, ran=bg)
        begin = at + wait_us * US
        if how == "at once":
            synth.preempt(bg, begin, begin + 10 * US, ran=fg)
            begin += 20 * US
    synth.sleep(bg, begin, BEGIN + (n + 1) * ROUND, interrupt=True)
    return synth


@pytest.mark.parametrize(("other", "n_times"), [("bg", 0), ("stranger", 1)])
def test_who_talks_is_found_once_and_only_for_a_suspect_without_a_role(
    inversions: Rows, monkeypatch: pytest.MonkeyPatch, other: str, n_times: int
) -> None:
    found: list[Talks] = []
    talks_of = Talks.of

    def counted(trace: Trace) -> Talks:
        found.append(talks_of(trace))
        return found[-1]

    monkeypatch.setattr(Talks, "of", counted)
    assert inversions(contended(1000, 20, "preempted", other))
    assert len(found) == n_times


@pytest.mark.parametrize("how", ["preempted", "woken"])
def test_a_thousand_short_waits_are_an_inversion(inversions: Rows, how: str) -> None:
    found = inversions(contended(1000, 20, how))
    assert [row[:3] for row in found] == [("cpu", "bg", 1000 * 20 * US)]


@pytest.mark.parametrize(("n", "wait_us"), [(1000, 20), (1, 49), (2, 49)])
def test_a_wakeup_that_preempts_at_once_is_none(inversions: Rows, n: int, wait_us: int) -> None:
    assert inversions(contended(n, wait_us, "at once")) == []


def test_a_long_wait_is_one_however_it_ended(inversions: Rows) -> None:
    found = inversions(contended(3, 60, "at once"))
    assert [row[:3] for row in found] == [("cpu", "bg", 180 * US)]


@pytest.mark.parametrize(("wait_us", "blamed_us"), [(19, 0), (20, 40)])
def test_short_waits_count_if_they_are_a_tenth_of_the_request(
    inversions: Rows, wait_us: int, blamed_us: int
) -> None:
    """Two in a request of 400 µs."""
    found = inversions(contended(2, wait_us, "preempted"))
    assert [row[2] for row in found] == [blamed_us * US] * (blamed_us > 0)


@pytest.mark.parametrize("how", ["preempted", "woken"])
def test_the_foregrounds_own_turns_are_none(inversions: Rows, how: str) -> None:
    assert inversions(contended(1000, 20, how, other="fg2")) == []


MESSAGES = (["unix_stream_read_generic"], ["pipe_read"], ["ep_poll"])


def asked(other: str, stack: list[str], server: int = 10, speaker: int = 20) -> Synth:
    """Another one takes the CPU a thousand times; it, or who is named, once woke the server."""
    synth = contended(1000, 20, "preempted", other=other)
    if server != 10:
        synth.task("fg-other", server)
    if speaker != 20:
        synth.task("client-thread", speaker, pid=20)
    synth.sleep(server, BEGIN - 90 * US, BEGIN - 80 * US, waker=speaker, stack=stack)
    return synth


@pytest.mark.parametrize("stack", MESSAGES, ids=lambda stack: stack[0])
@pytest.mark.parametrize("speaker", [20, 21])
def test_the_cpu_time_of_the_servers_own_client_is_none(
    inversions: Rows, stack: list[str], speaker: int
) -> None:
    assert inversions(asked("client", stack, speaker=speaker)) == []


@pytest.mark.parametrize(
    ("other", "stack", "server"),
    [
        ("bg-client", ["ep_poll"], 10),  # a rule says whose work it does
        ("client", ["ep_poll"], 11),  # the client of another server
        ("client", ["flock_lock_inode_wait"], 10),  # no message
        ("client", ["folio_wait_bit_common"], 10),
    ],
)
def test_the_cpu_time_of_others_is_one(
    inversions: Rows, other: str, stack: list[str], server: int
) -> None:
    found = inversions(asked(other, stack, server))
    assert [row[:3] for row in found] == [("cpu", other, 1000 * 20 * US)]


@pytest.mark.parametrize(("client_us", "other_us"), [(500, 400), (400, 500), (400, 2000)])
def test_who_shares_the_cpu_with_a_client_is_blamed_for_its_own_time(
    inversions: Rows, client_us: int, other_us: int
) -> None:
    """In one wait a client runs first, then one who never woke the server."""
    synth = Synth(ROLES)
    fg, client, other = synth.task("fg", 10), synth.task("client", 20), synth.task("other", 30)
    taken = (client_us + other_us) * US
    synth.request(fg, BEGIN, BEGIN + taken + ROUND)
    synth.sleep(fg, BEGIN - 90 * US, BEGIN - 80 * US, waker=client, stack=["ep_poll"])
    at = BEGIN + 100 * US
    synth.sleep(client, BEGIN - 50 * US, at, at, interrupt=True)
    synth.sleep(other, BEGIN - 50 * US, at, at + client_us * US, interrupt=True, ran=client)
    synth.sleep(client, at + client_us * US, at + taken + ROUND, interrupt=True)
    synth.preempt(fg, at, at + taken, ran=other)
    synth.sleep(other, at + taken, at + taken + ROUND, interrupt=True)
    found = inversions(synth)
    assert [row[:3] for row in found] == [("cpu", "other", other_us * US)]


def test_a_client_is_one_for_a_helper_only_where_it_asked_nobody(inversions: Rows) -> None:
    """The request's own thread waits for a helper, which its client keeps from the CPU."""
    for asks in (True, False):
        synth = Synth(ROLES)
        fg, helper, client = synth.task("fg", 10), synth.task("fg-helper", 11), synth.task("c", 20)
        synth.request(fg, BEGIN, BEGIN + ROUND)
        if asks:
            synth.sleep(fg, BEGIN - 90 * US, BEGIN - 80 * US, waker=client, stack=["ep_poll"])
        synth.first_seen(client, BEGIN - ROUND)
        synth.sleep(fg, BEGIN + 10 * US, BEGIN + 190 * US, waker=helper, stack=["pipe_read"])
        synth.preempt(helper, BEGIN + 50 * US, BEGIN + 150 * US, ran=client)
        synth.sleep(client, BEGIN + 150 * US, BEGIN + ROUND, interrupt=True)
        expected = [] if asks else [("cpu", "c", 100 * US)]
        assert [row[:3] for row in inversions(synth)] == expected


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    st.integers(1, 40),
    st.integers(1, 90),
    st.sampled_from(("preempted", "woken", "at once")),
)
def test_a_request_is_judged_by_the_sum_of_its_waits(n: int, wait_us: int, how: str) -> None:
    synth = contended(n, wait_us, how)
    rules = [RoleRule(*rule) for rule in ROLES]
    trace = build_trace({r.name: synth.records(r) for r in RECORDS}, rules, {})
    found = find_inversions(trace, paths_of(trace), io_causes(trace), {})
    counts = wait_us >= 50 or (how != "at once" and wait_us >= 2)
    enough = n * wait_us >= min(50, n * ROUND // US // 10)
    expected = n * wait_us * US if counts and enough else 0
    assert found.dur.sum() == expected
