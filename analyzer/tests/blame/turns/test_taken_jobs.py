"""Jobs of which the message is known need no answer, and begin when it is taken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from rcp.fixtures.synth import Synth

if TYPE_CHECKING:
    from rcp.analyzer.tests.conftest import Ask

MS, US = 1_000_000, 1_000
POLL, RECV, NAP = ["ep_poll"], ["unix_stream_read_generic"], ["hrtimer_nanosleep"]
CULPRITS = "SELECT kind, culprit, dur // 1000000 FROM inversion ORDER BY dur DESC"
CLIENT, BACKUP = 46, 56


class Server(Synth):
    """It takes the backup's message at 1 ms, and works for it until 13; then for the client, to 16.

    The backup waits for no answer; the client asks at 5 ms. A job is reads of 3 ms.
    """

    def __init__(self, *, known: bool = True, several: bool = False) -> None:
        super().__init__([("foreground", "comm:client*"), ("background", "comm:backup*")])
        self.client, self.backup, self.server = map(self.task, ("client", "backup", "server"))
        self.known, took = known, BACKUP
        self.request(self.client, 5 * MS, 16 * MS, nr=45)
        self.waits(self.client, 5, 16, self.server, sent=True, sent_to=CLIENT)
        self.sleep(self.backup, 1 * MS, 50 * MS, stack=NAP, **self.queues(sent_to=BACKUP))
        self.waits(self.server, 0, 1, self.backup, stack=POLL)
        for begin in (1, 4, 7, 10):
            self.reads(begin, received_from=(1 if several else took) if begin == 1 else 0)
        self.reads(13, **self.queues(received_from=CLIENT))
        self.waits(self.server, 16, 60, 0, stack=POLL, sent=True, **self.queues(sent_to=CLIENT + 1))

    def queues(self, **queues: Any) -> dict[str, Any]:
        return queues if self.known else {}

    def waits(
        self, who: int, begin: int, end: int, by: int, *, stack: list[str] = RECV, **more: Any
    ) -> None:
        self.sleep(who, begin * MS, end * MS, waker=by, stack=stack, **more)

    def reads(self, begin: int, **queues: Any) -> None:
        """A read of 3 ms, 10 us after a time in ms."""
        ts, end = begin * MS + 10 * US, (begin + 3) * MS
        io = self.io(self.server, ts, end, op=0)
        received = int(bool(queues))
        self.sleep(self.server, ts, end, io=io, stack=["io_schedule"], received=received, **queues)


def test_who_waits_for_no_answer_is_a_client_too(ask: Ask) -> None:
    [(kind, culprit, ms)] = ask(Server(), CULPRITS)
    assert (kind, culprit) == ("condition", "backup")
    assert ms in (7, 8)  # 5 to 13 ms, but for microseconds


@pytest.mark.parametrize("how", ["unknown", "several"])
def test_without_the_queue_only_the_sleep_under_way_is_known(ask: Ask, how: str) -> None:
    """The message ended the server's idle wait: that is all that shows whose job it is."""
    rows = ask(Server(known=how != "unknown", several=how == "several"), CULPRITS)
    assert rows == [("condition", "backup", 2)]
