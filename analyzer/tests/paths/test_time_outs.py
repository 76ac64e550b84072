"""A wait for an answer that a time-out ends belongs to who was asked, but for what remains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rcp.analyzer.reports.path_rows import edges
from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask, Load

MS = 1_000_000
POLL, RECV, NAP = ["ep_poll"], ["unix_stream_read_generic"], ["hrtimer_nanosleep"]
CULPRITS = "SELECT kind, culprit, dur // 1000000 FROM inversion ORDER BY dur DESC"
KINDS = "SELECT kind, dur // 1000000 FROM segment WHERE dur > 1000000 ORDER BY segment_id"
CLIENT, BACKUP = 46, 56


class Server(Synth):
    """It does the backup's job from 1 to 21 ms, takes the client's message, and does that until 24.

    The client asks at 4 ms and gives up at 10.
    """

    def __init__(
        self,
        *,
        answered: int = 24,
        reads_answer: bool = True,
        ticks: int = 1,
        queue: int = CLIENT,
        sends: tuple[dict[str, Any], ...] = ({"sent": True, "sent_to": CLIENT},),
        served: str = "",
    ) -> None:
        super().__init__([("foreground", "comm:client*"), ("background", "comm:backup*")])
        client, backup = self.task("client"), self.task("backup")
        self.server = server = self.task(f"{served}server")
        self.request(client, 4 * MS, 10 * MS, nr=45)
        for n in range(ticks):
            begin, end = (4 * MS + 6 * MS * n // ticks, 4 * MS + 6 * MS * (n + 1) // ticks)
            more = sends[n] if n < len(sends) else {}
            self.sleep(client, begin + 1000 * (n > 0), end, interrupt=True, stack=POLL, **more)
        self.sleep(client, 12 * MS, 50 * MS, interrupt=True, stack=NAP)
        if reads_answer:
            self.sleep(client, 51 * MS, 60 * MS, stack=NAP, received=1, received_from=CLIENT + 1)
        self.sleep(backup, 1 * MS, 21 * MS, waker=server, stack=RECV, sent=True, sent_to=BACKUP)
        self.sleep(server, 0, 1 * MS, waker=backup, stack=POLL)
        # Its job for the backup is on the CPU.
        self.sleep(
            server,
            *(21 * MS, 21 * MS + 1000),
            interrupt=True,
            stack=NAP,
            sent=True,
            sent_to=BACKUP + 1,
            received_from=BACKUP,
        )
        answers: dict[str, Any] = {"sent": True, "sent_to": CLIENT + 1} if answered else {}
        self.sleep(
            server, (answered or 24) * MS, 70 * MS, stack=POLL, received_from=queue, **answers
        )


def test_the_path_says_who_had_not_answered(load: Load) -> None:
    [edge] = edges(load(Server()), 1)
    assert (edge.waiter, edge.waker, edge.is_timed_out) == ("client", "server", True)


@pytest.mark.parametrize("ticks", [1, 3])
@pytest.mark.parametrize("reads_answer", [True, False])
def test_who_was_asked_is_waited_for(ask: Ask, ticks: int, reads_answer: bool) -> None:
    """Alone, the client would have had its answer after 3 ms."""
    server = Server(ticks=ticks, reads_answer=reads_answer)
    assert ask(server, CULPRITS) == [("condition", "backup", 3)]
    assert {kind for kind, _ in ask(server, KINDS)} == {"cpu"}


def test_an_answer_that_takes_longer_than_the_time_out_is_none_of_the_backups(ask: Ask) -> None:
    assert ask(Server(answered=28), CULPRITS) == []


def test_a_message_that_nobody_took_is_nobodys(ask: Ask) -> None:
    server = Server(queue=CLIENT + 100, reads_answer=False, answered=0)
    assert ask(server, CULPRITS) == []
    assert ask(server, KINDS) == [("poll", 6)]


@pytest.mark.parametrize(
    "then",
    [
        {"sent": True, "sent_to": 1},
        {"received": 1, "received_from": 1},
        {"received": 1, "received_from": CLIENT + 1},
    ],
    ids=["asks nobody known", "takes something", "takes the answer"],
)
def test_who_has_done_something_since_it_asked_waits_for_that(
    ask: Ask, then: dict[str, Any]
) -> None:
    """It does so at 7 ms; until then it waits for the server."""
    asks = {"sent": True, "sent_to": CLIENT}
    server = Server(ticks=2, sends=(asks, then))
    assert ("poll", 2) in ask(server, KINDS) or ("poll", 3) in ask(server, KINDS)


def test_what_was_taken_with_something_else_is_not_known(ask: Ask) -> None:
    """The server has taken several messages before the next one from that queue."""
    server = Server()
    server.sleep(server.server, 22 * MS, 22 * MS + 1000, stack=NAP, received_from=1)
    assert ask(server, KINDS) == [("poll", 6)]


def test_the_background_is_no_server(ask: Ask) -> None:
    assert ask(Server(served="backup-"), KINDS) == [("poll", 6)]


def test_who_takes_a_message_late_and_never_answers_was_asked_nothing(ask: Ask) -> None:
    """A logger is at the backup's job, too; nothing is ever sent back."""
    assert ask(Server(answered=0, reads_answer=False), KINDS) == [("poll", 6)]


def test_who_never_answers_has_other_things_to_do(ask: Ask) -> None:
    """A logger takes a message at 5 ms, and goes on."""
    synth = Synth([("foreground", "comm:client*"), ("background", "comm:backup*")])
    client, logger = synth.task("client"), synth.task("logger")
    synth.request(client, 4 * MS, 10 * MS, nr=45)
    synth.sleep(client, 4 * MS, 10 * MS, interrupt=True, stack=POLL, sent=True, sent_to=CLIENT)
    synth.sleep(logger, 1 * MS, 5 * MS, waker=client, stack=RECV)
    synth.sleep(logger, 6 * MS, 30 * MS, stack=RECV, received=1, received_from=CLIENT)
    assert ask(synth, KINDS) == [("poll", 6)]


class Ticks(Synth):
    """A loop that looks every ms has asked a server for the client at 4 ms, which answers at 14.

    At 8 ms it takes an answer for the backup, and passes it on; that asks again at 12 ms.
    """

    def __init__(self) -> None:
        super().__init__([("foreground", "comm:client*"), ("background", "comm:backup*")])
        client, backup, loop = map(self.task, ("client", "backup", "loop"))
        server, other = self.task("server"), self.task("other")
        self.request(client, 4 * MS, 14 * MS + 9000, nr=45)
        self.sleep(client, 4 * MS, 14 * MS, waker=loop, stack=RECV, sent=True, sent_to=CLIENT)
        self.sleep(loop, 0, 2 * MS, waker=backup, stack=POLL)
        self.looks(loop, 2, 4, client, received_from=BACKUP, sent_to=82)
        self.looks(loop, 4, 5, 0, received_from=CLIENT, sent_to=72)
        for begin in (5, 6):
            self.looks(loop, begin, begin + 1, 0)
        self.looks(loop, 7, 8, other)
        self.looks(loop, 8, 9, 0, received_from=83, sent_to=BACKUP + 1)
        for begin in range(9, 13):
            self.looks(loop, begin, begin + 1, 0)
        self.looks(loop, 13, 14, server)
        self.looks(loop, 14, 90, 0, received_from=73, sent_to=CLIENT + 1)
        self.sleep(backup, 2 * MS, 8 * MS, waker=loop, stack=RECV, sent=True, sent_to=BACKUP)
        self.sleep(backup, 12 * MS, 90 * MS, stack=RECV, received=1, received_from=BACKUP + 1)
        for task, queue, asked, done in ((server, 72, 4, 14), (other, 82, 2, 8)):
            self.sleep(task, 0, asked * MS + 5000, waker=loop, stack=RECV)
            queues: dict[str, Any] = {"received_from": queue, "sent_to": queue + 1}
            self.sleep(task, done * MS + 5000, 90 * MS, stack=RECV, sent=True, **queues)

    def looks(self, who: int, begin: int, end: int, by: int, **queues: Any) -> None:
        """It sleeps from 10 us after a time in ms on; nobody ends that: the clock does."""
        ts, sent = begin * MS + 10_000, "sent_to" in queues
        self.sleep(who, ts, end * MS, waker=by, interrupt=not by, stack=POLL, sent=sent, **queues)


def test_a_clock_that_ticks_does_not_end_a_wait(ask: Ask) -> None:
    """From 4 ms on the loop waits for the server, whatever comes meanwhile."""
    sql = "SELECT DISTINCT comm FROM segment JOIN task USING (utid) WHERE segment.dur > 100000"
    assert ask(Ticks(), sql) == [("server",)]
    assert ask(Ticks(), CULPRITS) == []
