"""Where the queues of messages are known, so is for whom each thread is at work."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.analyzer.paths.messages import Messages
from rcp.analyzer.tests.blame.found import trace_of
from rcp.analyzer.tests.talks import MS, POLL, RECV, ROLES, US, Talk
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

PATH = """
    SELECT segment.ts // 1000000, segment.dur // 1000000, kind, comm
    FROM segment LEFT JOIN task USING (utid) WHERE segment.dur > 1000000 ORDER BY segment_id
"""
CLIENT, BACKUP, FIRST, SECOND, ANOTHER = 46, 56, 62, 72, 86
"""Queues for questions; those for answers are the next ones."""
_SEVERAL = 1


class Loop(Talk):
    """A loop passes the backup's question on to one database, and the client's to another.

    The backup asks at 1 ms and has its answer at 11, the client asks at 3 ms and has it at 20.
    ``another``: a second client asks at 5 ms. ``several``: before it slept at 1 ms, the loop has
    taken an earlier answer too.
    """

    def __init__(
        self,
        *,
        known: bool = True,
        senders: bool = False,
        another: bool = False,
        several: bool = False,
    ) -> None:
        super().__init__(known=known)
        self.client, self.backup = self.task("client"), self.task("backup")
        self.loop, self.first, self.second = map(self.task, ("loop", "first", "second"))
        if senders:
            self.senders = {CLIENT: self.client, BACKUP: self.backup, FIRST: self.loop}
            self.senders |= {SECOND: self.loop, FIRST + 1: self.first, SECOND + 1: self.second}
        self.request(self.client, 3 * MS, 20 * MS + 20 * US, nr=45)
        self.waits(self.client, 3, 20, self.loop, sent_to=CLIENT)
        self.waits(self.backup, 1, 11, self.loop, sent_to=BACKUP)
        self.waits(self.loop, 0, 1, self.backup, stack=POLL)
        taken = _SEVERAL if several else BACKUP
        self.waits(self.loop, 1, 3, self.client, received_from=taken, sent_to=FIRST, stack=POLL)
        if several:
            self.waits(self.backup, 12, 60, 0, received_from=BACKUP + 1)
        if another:
            other = self.task("client-2")
            self.waits(other, 5, 60, self.loop, sent_to=ANOTHER)
            self.waits(self.loop, 3, 5, other, received_from=CLIENT, sent_to=SECOND, stack=POLL)
            self.waits(self.loop, 5, 11, self.first, received_from=ANOTHER, sent_to=92, stack=POLL)
        else:
            self.waits(
                self.loop, 3, 11, self.first, received_from=CLIENT, sent_to=SECOND, stack=POLL
            )
        self.waits(
            self.loop, 11, 20, self.second, received_from=FIRST + 1, sent_to=BACKUP + 1, stack=POLL
        )
        self.waits(self.loop, 20, 60, 0, received_from=SECOND + 1, sent_to=CLIENT + 1, stack=POLL)
        for database, asked, begin, end in (
            (self.first, FIRST, 1, 11),
            (self.second, SECOND, 3, 20),
        ):
            self.sleep(database, 0, begin * MS + 5 * US, waker=self.loop, stack=RECV)
            self.waits(database, end, 60, 0, received_from=asked, sent_to=asked + 1)


@pytest.mark.parametrize("senders", [True, False])
@pytest.mark.parametrize(("known", "database"), [(True, "second"), (False, "first")])
def test_a_loop_waits_for_the_answer_to_what_it_asked_for_the_client(
    ask: Ask, known: bool, database: str, senders: bool
) -> None:
    """Without the queues, it seems to wait until the first answer comes: that is the backup's."""
    loop = Loop(known=known, senders=senders)
    assert (3, 7, "cpu", database) in ask(loop, PATH)


def test_an_answer_is_whose_it_is_passed_on_to(ask: Ask) -> None:
    """Whose the first database's answer is can not be told by what the loop had taken before."""
    assert {row[3] for row in ask(Loop(several=True), PATH)} == {"second"}


def test_who_asks_a_loop_ends_no_wait_of_others(ask: Ask) -> None:
    """From 3 ms on the client waits for the second database, whoever asks the loop meanwhile."""
    rows = ask(Loop(another=True), PATH)
    assert {row[3] for row in rows} == {"second"}
    assert sum(int(str(row[1])) for row in rows) >= 14


@pytest.mark.parametrize("senders", [True, False])
def test_a_thread_is_at_work_for_who_sent_what_it_has_taken(senders: bool) -> None:
    trace = trace_of(Loop(senders=senders))
    comm, messages = trace.tasks.comm, Messages.of(trace.sleeps, trace.tasks)
    clients = messages.clients
    names = [str(comm[trace.sleeps.utid[sleep]]) for sleep in messages.sleep]
    of = {
        (name, int(asleep) // MS): str(comm[client]) if client >= 0 else ""
        for name, asleep, client in zip(names, messages.asleep, clients, strict=True)
    }
    assert of == {
        ("client", 3): "",
        ("backup", 1): "",
        ("loop", 0): "",
        ("loop", 1): "backup",
        ("loop", 3): "client",
        ("loop", 11): "backup",
        ("loop", 20): "client",
        ("first", 0): "",
        ("first", 11): "backup",
        ("second", 0): "",
        ("second", 20): "client",
    }


def test_what_is_taken_from_several_queues_is_nobodys() -> None:
    synth = Synth(ROLES)
    client, server = synth.task("client"), synth.task("server")
    synth.sleep(client, 1 * MS, 2 * MS, waker=server, stack=RECV, sent=True, sent_to=46)
    synth.sleep(server, 1 * MS, 5 * MS, waker=client, stack=POLL, received_from=46)
    synth.sleep(server, 6 * MS, 8 * MS, waker=client, stack=POLL, received_from=1)
    trace = trace_of(synth)
    messages = Messages.of(trace.sleeps, trace.tasks)
    found = messages.clients[messages.thread == trace.tasks.thread[-1]]
    assert [int(utid) for utid in found if utid >= 0] == [int(trace.sleeps.utid[0])]


def test_recordings_without_queues_have_no_messages() -> None:
    trace = trace_of(Loop(known=False))
    messages = Messages.of(trace.sleeps, trace.tasks)
    assert len(messages.sleep) == 0
    assert len(messages.clients) == 0


def test_where_queue_and_sender_contradict_each_other_nothing_is_known() -> None:
    """The recorded sender may be the one before: another CPU looks it up at once."""
    synth = Synth(ROLES)
    client, backup, server = map(synth.task, ("client", "backup", "server"))
    synth.sleep(client, 1 * MS, 9 * MS, waker=server, stack=RECV, sent=True, sent_to=46)
    synth.sleep(server, 2 * MS, 9 * MS, stack=POLL, received_from=46, sender=backup)
    synth.sleep(backup, 1 * MS, 9 * MS, stack=POLL, sent=True, sent_to=56)
    trace = trace_of(synth)
    messages = Messages.of(trace.sleeps, trace.tasks)
    assert (messages.clients == -1).all()
