"""A server that waits for its database, and answers others meanwhile, waits for the database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

MS = 1_000_000
POLL, RECV = ["ep_poll"], ["unix_stream_read_generic"]
CULPRITS = "SELECT kind, culprit, dur // 1000000 FROM inversion ORDER BY dur DESC"
PATH = """
    SELECT segment.ts // 1000000, segment.dur // 1000000, kind, comm
    FROM segment LEFT JOIN task USING (utid) ORDER BY segment_id
"""


class Proxy(Synth):
    """The client asks at 10 ms; the proxy asks the database, and answers at 50 ms.

    From 11 on it waits for the database, and again from 31, for it is woken at 30 ms. The database
    works from 11 ms to 49.
    """

    def __init__(
        self,
        *,
        ends: str = "database",
        role: str = "proxy",
        asked: str = "database",
        again_us: int = 1000,
        is_thread: bool = False,
    ) -> None:
        super().__init__([("foreground", "comm:client*"), ("background", "comm:monitor*")])
        self.client, self.proxy = self.task("client"), self.task(role)
        self.monitor = self.task("monitor", pid=self.proxy if is_thread else None)
        self.database = self.task("database")
        self.request(self.client, 10 * MS, 50 * MS, nr=45)
        self.waits(self.client, 10, 50, self.proxy)
        self.waits(self.proxy, 1, 10, self.client, stack=POLL, sent=False)
        if asked:
            self.waits(getattr(self, asked), 2, 11, self.proxy)
        self.waits(self.proxy, 11, 30, self.monitor, stack=POLL)
        self.sleep(self.monitor, 11 * MS, 30 * MS, stack=["hrtimer_nanosleep"])
        by = {"database": self.database, "late": 900}.get(ends, 0)
        again, sent = 30 * MS + again_us * 1000, ends != "in vain"
        self.sleep(self.proxy, again, 49 * MS, waker=by, stack=POLL, sent=sent)
        self.waits(self.database, 49, 60, self.proxy)

    def waits(
        self, who: int, begin: int, end: int, by: int, *, stack: list[str] = RECV, sent: bool = True
    ) -> None:
        """A task waits for a message, by default after it has sent one; times are in ms."""
        self.sleep(who, begin * MS, end * MS, waker=by, stack=stack, sent=sent)

    def answers_monitor(self) -> None:
        """That waits for its answer from 30 to 31 ms."""
        self.sleep(self.monitor, 30 * MS, 31 * MS - 1000, waker=self.proxy, stack=RECV, sent=True)


def test_who_asks_meanwhile_and_has_its_answer_is_not_waited_for(ask: Ask) -> None:
    proxy = Proxy()
    proxy.answers_monitor()
    assert ask(proxy, CULPRITS) == []
    assert (11, 19, "cpu", "database") in ask(proxy, PATH)


def test_a_clock_may_end_the_wait(ask: Ask) -> None:
    proxy = Proxy(ends="clock")
    proxy.answers_monitor()
    assert ask(proxy, CULPRITS) == []
    assert (11, 19, "poll", "proxy") in ask(proxy, PATH)


def test_a_message_that_nothing_follows_is_none_that_is_waited_for(ask: Ask) -> None:
    """The proxy sends nothing before it waits again: a sign of life."""
    assert ask(Proxy(ends="in vain", asked="", again_us=50), CULPRITS) == []


@pytest.mark.parametrize(("asked", "ms"), [("", 19), ("monitor", 19), ("database", 0)])
def test_who_was_asked_nothing_is_not_waited_for(ask: Ask, asked: str, ms: int) -> None:
    """The proxy has woken the database. Whom it asks while that is busy is unknown."""
    rows = ask(Proxy(asked=asked), CULPRITS)
    assert rows == ([("condition", "monitor", ms)] if ms else [])


def test_a_thread_of_the_same_process_may_be_asked_without_a_message(ask: Ask) -> None:
    """The monitor is one: from 30 ms on the proxy is at the next job."""
    assert ask(Proxy(asked="database", is_thread=True), CULPRITS) == [("condition", "monitor", 19)]


def test_a_question_is_no_answer(ask: Ask) -> None:
    """The proxy asks the monitor three times, and then a database that is busy."""
    proxy = Proxy(asked="monitor")
    for begin in (100, 200):
        proxy.waits(proxy.proxy, begin, begin + 10, proxy.monitor, stack=POLL)
        proxy.waits(proxy.monitor, begin + 10, begin + 11, proxy.proxy)
        proxy.waits(proxy.proxy, begin + 11, begin + 20, proxy.monitor, stack=POLL)
    assert ask(proxy, CULPRITS) == [("condition", "monitor", 19)]


def test_who_was_not_there_yet_has_not_ended_the_wait(ask: Ask) -> None:
    """The last message is from a process that began at 40 ms, with the number of another one."""
    proxy = Proxy(ends="late")
    proxy.answers_monitor()
    proxy.task("monitor-2", tid=900, exited=True)
    proxy.task("late", tid=900, ts=40 * MS, start_ns=40 * MS)
    assert ask(proxy, CULPRITS) == []
    assert (11, 19, "poll", "proxy") in ask(proxy, PATH)


@pytest.mark.parametrize(("sent", "until", "ms"), [(True, 70, 19), (False, 70, 0), (True, 31, 0)])
def test_a_question_that_is_answered_later_has_not_ended_the_wait(
    ask: Ask, sent: bool, until: int, ms: int
) -> None:
    """The database is busy: what the proxy passes on to it wakes nobody."""
    proxy = Proxy(asked="monitor")
    proxy.waits(proxy.monitor, 30, until, proxy.proxy if until > 31 else 900, sent=sent)
    proxy.request(proxy.monitor, 30 * MS, until * MS, nr=45)
    on_path = [(ts, dur, comm) for ts, dur, kind, comm in ask(proxy, PATH) if kind == "cpu"]
    assert ((11, 19, "database") in on_path) == (ms > 0)


def test_the_next_question_to_an_idle_server_does_not_make_its_answer_one(ask: Ask) -> None:
    """The client asks the database, then a machine elsewhere, and then the database again."""
    synth = Synth([("foreground", "comm:client*"), ("background", "comm:backup*")])
    client, backup = synth.task("client"), synth.task("backup")
    database = synth.task("database")
    synth.request(client, 10 * MS, 70 * MS, nr=45)
    for who, begin, end, waker in (
        (database, 1, 11, client),
        (client, 12, 40, database),
        (database, 41, 60, client),
        (client, 42, 55, 0),
        (client, 61, 69, database),
    ):
        synth.sleep(who, begin * MS, end * MS, waker=waker, stack=RECV, sent=True)
    synth.sleep(database, 13 * MS, 39 * MS, waker=backup, stack=["rwsem_down_write_slowpath"])
    assert ask(synth, CULPRITS) == [("lock", "backup", 26)]


def test_a_message_that_leads_to_work_was_not_in_vain(ask: Ask) -> None:
    """The proxy sends one, and sleeps for an io before it waits again."""
    proxy = Proxy(ends="in vain", asked="", again_us=50)
    begin, end = 30 * MS + 10_000, 30 * MS + 40_000
    io = proxy.io(proxy.proxy, begin, end)
    proxy.sleep(proxy.proxy, begin, end, io=io, sent=True)
    assert ask(proxy, CULPRITS) == [("condition", "monitor", 19)]


def test_an_answer_that_comes_before_its_client_sleeps_wakes_nobody(ask: Ask) -> None:
    """All others that the monitor has asked for have woken it."""
    proxy = Proxy()
    for begin in (100, 200):
        proxy.waits(proxy.proxy, begin, begin + 10, proxy.monitor, stack=POLL)
        proxy.waits(proxy.monitor, begin + 10, begin + 11, proxy.proxy)
    proxy.waits(proxy.proxy, 300, 310, proxy.database, stack=POLL)
    assert ask(proxy, CULPRITS) == []


@pytest.mark.parametrize(("role", "n"), [("client-2", 1), ("proxy", 0)])
def test_a_request_of_the_foreground_ends_a_wait(ask: Ask, role: str, n: int) -> None:
    """One that is nothing but the first wait; of a task without a role it does not matter."""
    proxy = Proxy(role=role)
    proxy.answers_monitor()
    proxy.request(proxy.proxy, 11 * MS, 30 * MS + 1000, nr=232)
    of_client = CULPRITS.replace("ORDER", "WHERE request_id = 1 ORDER")
    assert len(ask(proxy, of_client)) == n
