"""Tasks that ask and answer each other, for paths and verdicts worked out by hand; times in ms."""

from __future__ import annotations

from typing import Any

from rcp.fixtures.synth import Synth

MS, US = 1_000_000, 1_000
POLL, RECV = ["ep_poll"], ["unix_stream_read_generic"]
ROLES = [("foreground", "comm:client*"), ("background", "comm:backup*")]


class Talk(Synth):
    """``known``: the queues of messages are recorded; ``senders``: who sends to each of them."""

    def __init__(self, *, known: bool = True) -> None:
        super().__init__(ROLES)
        self.known, self.senders = known, dict[int, int]()

    def waits(
        self, who: int, begin: int, end: int, by: int, *, stack: list[str] = RECV, **queues: Any
    ) -> None:
        """A task waits for a message from 10 us after ``begin`` on, or from the start."""
        sent, received_from = "sent_to" in queues, queues.get("received_from", 0)
        queues.setdefault("sender", self.senders.get(received_from, 0))
        self.sleep(
            who,
            begin * MS + (10 * US if begin else 0),
            end * MS,
            waker=by,
            stack=stack,
            sent=sent,
            received=int(received_from > 0 and not sent),
            **(queues if self.known else {}),
        )
