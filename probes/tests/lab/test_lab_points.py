"""Requests at chosen points on a real kernel, against what the recorded program says it did."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rcp.probes.tests.lab.guest_points import SLEEP_US

pytestmark = pytest.mark.lab

Row = dict[str, Any]


@pytest.fixture(scope="module")
def seen(recorder_lab: Path) -> dict[str, Any]:
    """What guest_points.py saw, in one recording."""
    result: dict[str, Any] = json.loads((recorder_lab / "points.json").read_text())
    assert result["status"] == 0, result["stderr"]
    return result


def within(outer: Row, rows: list[Row], name: str) -> list[Row]:
    """The finished requests of that name that lie in ``outer``, on the same thread."""
    return [
        row
        for row in rows
        if (row["name"], row["tid"]) == (name, outer["tid"])
        and outer["ts"] <= row["ts"] <= row["end_ns"] <= outer["end_ns"]
    ]


def logged(seen: dict[str, Any], what: str) -> list[Row]:
    """What the program did of one kind, by its own clock, in order."""
    return [row for row in seen["done"] if row["what"] == what]


def pairs(seen: dict[str, Any], what: str) -> Iterator[tuple[Row, Row]]:
    """Each piece of work the program logged, with the one request that must lie in it."""
    for row in logged(seen, what):
        (request,) = within(row, seen["requests"], what)
        yield row, request


def test_nothing_was_lost(seen: dict[str, Any]) -> None:
    assert sum(map(sum, seen["lost"].values())) == 0


@pytest.mark.parametrize(
    ("what", "count"), [("usleep", 7), ("sorting", 5), ("srand48", 3), ("collection", 4)]
)
def test_every_passage_is_one_request(seen: dict[str, Any], what: str, count: int) -> None:
    work = logged(seen, what)
    whole = {"tid": work[0]["tid"], "ts": work[0]["ts"], "end_ns": work[-1]["end_ns"]}
    assert len(work) == count
    assert len(within(whole, seen["requests"], what)) == count
    assert len(list(pairs(seen, what))) == count


@pytest.mark.parametrize(
    ("what", "least_us"),
    # the collector ends the cycle's object, which sleeps
    [("usleep", SLEEP_US), ("collection", SLEEP_US)],
)
def test_durations_are_the_programs_own(seen: dict[str, Any], what: str, least_us: int) -> None:
    for row, request in pairs(seen, what):
        own_ns, duration_ns = row["end_ns"] - row["ts"], request["end_ns"] - request["ts"]
        assert least_us * 1000 <= duration_ns <= own_ns
        assert duration_ns > 0.98 * own_ns


def test_syscalls_within_are_requests_of_their_own(seen: dict[str, Any]) -> None:
    for _, request in pairs(seen, "sorting"):
        assert len(within(request, seen["requests"], "fsync")) == 3  # one per depth
    for _, request in pairs(seen, "srand48"):
        assert len(within(request, seen["requests"], "fsync")) == 1


def test_the_other_end_is_distinguished(seen: dict[str, Any]) -> None:
    for row, request in pairs(seen, "srand48"):
        assert request["ret"] == row["ret"]


def test_what_a_socket_asks_is_a_request_until_it_is_answered(seen: dict[str, Any]) -> None:
    answers = logged(seen, "answer")
    (server,) = {row["tid"] for row in answers}
    requests = [r for r in seen["requests"] if (r["name"], r["tid"]) == ("socket", server)]
    assert len(requests) == len(answers) == 12
    for row in answers:
        found = within(row, requests, "socket")
        # the connection that asked first is answered last: its request encloses the other's
        assert len(found) == (1 if row.get("inner") else 2)
        outer = min(found, key=lambda r: int(r["ts"]))
        assert len(within(outer, seen["requests"], "fsync")) == len(found)
    assert len({r["arg0"] for r in requests}) == 2


def test_the_client_waited_longer_than_the_server_took(seen: dict[str, Any]) -> None:
    requests = [r for r in seen["requests"] if r["name"] == "socket"]
    (server,) = {row["tid"] for row in logged(seen, "answer")}
    for row in logged(seen, "asked"):
        assert len(within({**row, "tid": server}, requests, "socket")) == 2


def test_requests_under_way_at_the_end_are_kept_unless_their_thread_ended(
    seen: dict[str, Any],
) -> None:
    (left,) = logged(seen, "left")
    unfinished = {(r["name"], r["tid"]) for r in seen["requests"] if not r["end_ns"]}
    assert unfinished == {("socket", left["tid"]), ("usleep", left["tid"])}
