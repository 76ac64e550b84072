"""Who asks two servers at once waits for the later answer: what the other one lost is no loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rcp.analyzer.paths.messages import NO_ONE
from rcp.analyzer.tests.talks import MS, POLL, US, Talk

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

CULPRITS = "SELECT kind, culprit, dur / 1000000 FROM inversion ORDER BY dur DESC"
CLIENT, BACKUP, OWN, SHARED = 46, 56, 62, 72


class Coordinator(Talk):
    """It asks both servers at 3 ms, waits for one answer and then for the other, and answers.

    The own server works until ``own_ms``; the shared one for the backup until 15 ms, and for the
    coordinator until 17. ``together``: it waits for the shared one first, and takes both answers.
    """

    def __init__(self, own_ms: int, *, known: bool = True, together: bool = False) -> None:
        super().__init__(known=known)
        client, backup, coordinator = map(self.task, ("client", "backup", "coordinator"))
        own, shared = self.task("own"), self.task("shared")
        order = sorted([(own_ms, own, OWN), (17, shared, SHARED)])
        (first_ms, first, first_queue), (last_ms, last, last_queue) = order
        self.request(client, 3 * MS, last_ms * MS + 20 * US, nr=45)
        self.waits(client, 3, last_ms, coordinator, sent_to=CLIENT)
        self.waits(coordinator, 0, 3, client, stack=POLL)
        asked: dict[str, Any] = {
            "received_from": CLIENT,
            "sent_to": SHARED,
            "sent_before": OWN,
            "sender": client,
        }
        answer: dict[str, Any] = {"received_from": last_queue + 1, "sent_to": CLIENT + 1}
        if together:
            self.waits(coordinator, 3, last_ms, last, **asked)
            answer |= {"received_from": NO_ONE, "sender": own}
        else:
            self.waits(coordinator, 3, first_ms, first, **asked)
            self.waits(coordinator, first_ms, last_ms, last, received_from=first_queue + 1)
        self.waits(coordinator, last_ms, 70, 0, stack=POLL, **answer)
        self.waits(own, 0, 3, coordinator)
        queues: dict[str, Any] = {"received_from": OWN, "sent_to": OWN + 1, "sender": coordinator}
        self.waits(own, own_ms, 70, 0, **queues)
        self.waits(backup, 1, 15, shared, sent_to=BACKUP)
        self.waits(shared, 0, 1, backup)
        self.nap(shared, 15, received_from=BACKUP, sent_to=BACKUP + 1)
        queues = {"received_from": SHARED, "sent_to": SHARED + 1, "sender": coordinator}
        self.waits(shared, 17, 70, 0, **queues)

    def nap(self, who: int, at_ms: int, **queues: Any) -> None:
        """Nothing but a record of what it has sent and received."""
        some = queues if self.known else {}
        self.sleep(who, at_ms * MS, at_ms * MS + US, stack=["io_schedule"], sent=True, **some)


def test_an_answer_that_comes_meanwhile_is_needed_anyway(ask: Ask) -> None:
    """The own server's comes at 10 ms: 7 ms are lost: the backup's 5 after that, and 2."""
    rows = ask(Coordinator(own_ms=10, together=True), CULPRITS)
    assert sum(float(str(row[2])) for row in rows) == pytest.approx(7, abs=0.1)


def test_who_is_late_for_the_backup_since_it_was_asked(ask: Ask) -> None:
    """Alone, both answers are there at 10 ms: 7 of 14 ms are lost. 5 are before 15 ms."""
    rows = ask(Coordinator(own_ms=10), CULPRITS)
    assert {row[:2] for row in rows} == {("condition", "backup")}
    assert sum(float(str(row[2])) for row in rows) == pytest.approx(7, abs=0.1)


def test_an_answer_that_is_waited_for_later_is_needed_anyway(ask: Ask) -> None:
    """The own server takes until 30 ms, and nothing is lost."""
    assert ask(Coordinator(own_ms=30), CULPRITS) == []


def test_without_the_queues_the_servers_seem_to_work_one_after_the_other(ask: Ask) -> None:
    rows = ask(Coordinator(own_ms=10, known=False), CULPRITS)
    assert sum(float(str(row[2])) for row in rows) == pytest.approx(12, abs=0.1)
