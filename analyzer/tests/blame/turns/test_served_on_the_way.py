"""A gateway asks an application, which asks a database: each may be at a job of its own first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

MS, US = 1_000_000, 1_000
RECV = ["unix_stream_read_generic"]
CULPRITS = """
    SELECT culprit, sum(dur) / 1000000 FROM inversion GROUP BY ALL ORDER BY culprit
"""


class Chain(Synth):
    """The client asks at 3 ms.

    The application works for ``backup-a`` until 8 ms, and asks the database then. That works for
    ``backup-b`` until 14 ms, and for the client until 16.
    """

    def __init__(self) -> None:
        super().__init__([("foreground", "comm:client*"), ("background", "comm:backup*")])
        client, one, two = map(self.task, ("client", "backup-a", "backup-b"))
        application, database = self.task("app"), self.task("db")
        self.request(client, 3 * MS, 16 * MS + 50 * US, nr=45)
        self.waits(client, 3, 16.04, application, sent_to=46)
        self.waits(one, 1, 8, application, sent_to=56)
        self.waits(two, 1, 14, database, sent_to=66)
        self.waits(application, 0, 1, one)
        self.waits(application, 8.02, 16.02, database, received_from=46, sent_to=72)
        self.waits(application, 16.05, 90, 0, received_from=73, sent_to=47)
        self.waits(database, 0, 1, two)
        self.reads(application, 1.02, 8, received_from=56)
        self.reads(database, 1.02, 14, received_from=66)
        self.reads(database, 14.02, 16, received_from=72, sent_to=67)
        self.waits(database, 16.03, 90, 0, sent_to=73)

    def waits(
        self, who: int, begin: float, end: float, by: int, sent_to: int = 0, received_from: int = 0
    ) -> None:
        """A task waits for a message, after it has taken or sent one; times are in ms."""
        self.sleep(
            who,
            *(round(begin * MS), round(end * MS)),
            waker=by,
            stack=RECV,
            sent=sent_to > 0,
            sent_to=sent_to,
            received_from=received_from,
        )

    def reads(
        self, who: int, begin: float, end: float, received_from: int, sent_to: int = 0
    ) -> None:
        """A server waits for an io of its own."""
        ts, until = round(begin * MS), round(end * MS)
        self.sleep(
            who,
            *(ts, until),
            io=self.io(who, ts, until, op=0),
            received=1,
            received_from=received_from,
            sent=sent_to > 0,
            sent_to=sent_to,
        )


def test_each_server_is_late_for_a_job_of_its_own(ask: Ask) -> None:
    rows = {row[0]: row[1] for row in ask(Chain(), CULPRITS)}
    assert rows == pytest.approx({"backup-a": 5, "backup-b": 6}, abs=0.1)
