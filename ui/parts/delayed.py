"""A list of requests, each with the time that something took from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from rcp.analyzer.text import duration
from rcp.ui import web

_LINKED_MAX = 3
"""Requests with a link above the table, which a keyboard reaches more easily."""


class Delayed(Protocol):
    """What a list shows of a request."""

    @property
    def request_id(self) -> int:
        """Its id."""

    @property
    def offset_ns(self) -> int:
        """Its start, since the start of the recording."""

    @property
    def name(self) -> str:
        """Its kind."""

    @property
    def comm(self) -> str:
        """Its thread."""

    @property
    def dur_ns(self) -> int:
        """Its latency."""


REQUEST_COLUMNS = {
    "request": web.Column("request", format="%d"),
    "at": web.Column("start s", "since the start of the recording", "%.3f"),
    "name": web.Column("kind"),
    "comm": web.Column("thread"),
    "delay": web.Column("delay ms", "time in this inversion", "%.3f"),
    "dur": web.Column("latency ms", format="%.3f"),
}


def requests(
    found: Sequence[tuple[Delayed, int]],
    verb: str,
    key: str,
    columns: Mapping[str, web.Column] = REQUEST_COLUMNS,
    more: Sequence[Mapping[str, object]] = (),
) -> None:
    """Show requests with their delays in ns, as links and as a table that leads to them.

    *verb* is what happened to them for so long; *more* has the fields of further *columns*.
    """
    for one, delay_ns in found[:_LINKED_MAX]:
        web.link(
            "request",
            f"request {one.request_id}: {verb} {duration(delay_ns)} of {duration(one.dur_ns)}, "
            f"{one.name} by {one.comm}",
            request=one.request_id,
        )
    rows: list[dict[str, object]] = [
        {
            "request": one.request_id,
            "at": one.offset_ns / 1e9,
            "name": one.name,
            "comm": one.comm,
            "delay": delay_ns / 1e6,
            "dur": one.dur_ns / 1e6,
            **(more[at] if more else {}),
        }
        for at, (one, delay_ns) in enumerate(found)
    ]
    chosen = web.table(rows, columns, key, selecting=True, height=260)
    if chosen is not None:
        web.go("request", request=found[chosen][0].request_id)
