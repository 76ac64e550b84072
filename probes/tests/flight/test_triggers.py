from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rcp.probes.contract.events import REQUEST
from rcp.probes.flight.triggers import Trigger, TriggerError, Watch, parse_trigger

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import Rows

NAMES = {74: "fsync", 75: "fdatasync"}
MS = 1_000_000


def requests(*spans: tuple[int, int, int]) -> "Rows":
    """(nr, ts, end) each, of thread 7."""
    table = np.zeros(len(spans), REQUEST.dtype)
    for row, (nr, ts, end) in zip(table, spans, strict=True):
        row["nr"], row["ts"], row["end_ns"], row["tid"] = nr, ts, end, 7
    return table


def watch(*texts: str) -> Watch:
    return Watch([parse_trigger(text, NAMES.values()) for text in texts], NAMES)


@pytest.mark.parametrize(
    ("text", "trigger"),
    [
        ("request>50ms", Trigger("request", 50 * MS)),
        ("fsync > 1.5 s", Trigger("fsync", 1500 * MS)),
    ],
)
def test_a_trigger_is_a_name_and_a_bound(text: str, trigger: Trigger) -> None:
    assert parse_trigger(text, NAMES.values()) == trigger


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("request>50", "--when 'request>50': give a unit: ns, us, ms, s, m or h."),
        ("request>", "--when 'request>': give a number and a unit, as in 50ms."),
        ("request>0ms", "--when 'request>0ms': give more than 0."),
        ("request", "--when 'request': write NAME>DURATION, as in 'request>50ms'."),
        ("request<5ms", "--when 'request<5ms': write NAME>DURATION, as in 'request>50ms'."),
        ("request>=5ms", "--when 'request>=5ms': write NAME>DURATION, as in 'request>50ms'."),
        (">5ms", "--when '>5ms': write NAME>DURATION, as in 'request>50ms'."),
        ("", "--when '': write NAME>DURATION, as in 'request>50ms'."),
        (
            "write>5ms",
            "--when 'write>5ms': write is not recorded: choose from request, fdatasync, fsync, or "
            "record it with --request.",
        ),
    ],
)
def test_a_malformed_trigger_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(TriggerError) as raised:
        parse_trigger(text, NAMES.values())
    assert str(raised.value) == message


def test_only_a_longer_request_fires() -> None:
    assert watch("request>50ms").fired(requests((74, 0, 50 * MS))) is None
    fired = watch("request>50ms").fired(requests((74, 0, 50 * MS + 1)))
    assert fired is not None
    assert fired.as_dict() == {
        "trigger": "request>50ms",
        "request": "fsync",
        "tid": 7,
        "ts": 0,
        "dur_ns": 50 * MS + 1,
        "is_finished": True,
    }


def test_a_named_trigger_looks_at_requests_of_that_name_only() -> None:
    rows = requests((75, 0, 900 * MS), (74, 5, 5 + 30 * MS))
    fired = watch("fsync>20ms").fired(rows)
    assert fired is not None
    assert (fired.request, fired.dur_ns) == ("fsync", 30 * MS)


def test_the_slowest_request_is_reported_with_its_trigger() -> None:
    rows = requests((74, 0, 30 * MS), (75, 0, 90 * MS), (74, 0, 40 * MS))
    fired = watch("fsync>20ms", "request>80ms").fired(rows)
    assert fired is not None
    assert (fired.trigger, fired.dur_ns) == ("request>80ms", 90 * MS)


def test_a_request_under_way_does_not_fire() -> None:
    assert watch("request>1ns").fired(requests((74, 5_000, 0))) is None


def test_nothing_fires_without_requests_or_triggers() -> None:
    assert watch("request>1ns").fired(requests()) is None
    assert watch().fired(requests((74, 0, 10**12))) is None


def under_way(*begun: tuple[int, int, int]) -> "Rows":
    """(nr, ts, tid) each."""
    rows = requests(*((nr, ts, 0) for nr, ts, _ in begun))
    rows["tid"] = [tid for *_, tid in begun]
    return rows


def test_a_request_that_hangs_fires_before_it_ends() -> None:
    watching = watch("fsync>50ms")
    rows = under_way((74, 100 * MS, 1), (74, 30 * MS, 2), (75, 1 * MS, 3))
    fired = watching.hanging(rows, 110 * MS)
    # Thread 2 has waited for 80 ms; thread 3 is in another kind of request.
    assert fired is not None
    assert (fired.tid, fired.dur_ns, fired.is_finished) == (2, 80 * MS, False)


def test_a_request_fires_once_while_it_hangs_and_not_again_when_it_ends() -> None:
    watching = watch("request>50ms")
    hangs = under_way((74, 10 * MS, 2), (74, 20 * MS, 3))
    assert watching.hanging(hangs, 100 * MS) is not None
    assert watching.hanging(hangs, 200 * MS) is None
    ended = requests((74, 10 * MS, 300 * MS), (74, 20 * MS, 300 * MS))
    ended["tid"] = [2, 3]
    assert watching.fired(ended) is None
    # The next one of the same thread is another one.
    again = requests((74, 400 * MS, 500 * MS))
    again["tid"] = 2
    assert watching.fired(again) is not None


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 60), st.integers(1, 120)), max_size=12))
def test_each_late_request_is_told_once_however_often_it_is_looked_at(
    spans: list[tuple[int, int, int]],
) -> None:
    """Threads do one request after another, looked at every 10 ms; told: those over 50 ms."""
    busy, late, told = dict.fromkeys(range(1, 5), 0), set(), set()
    watching, all_rows = watch("request>50ms"), []
    for tid, pause, dur in spans:
        ts = busy[tid] + pause * MS + 1
        busy[tid] = ts + dur * MS
        all_rows.append((74, ts, busy[tid], tid))
        if dur > 50:
            late.add((tid, ts))
    for now in range(0, max(busy.values()) + 20 * MS, 10 * MS):
        ended = [r for r in all_rows if now - 10 * MS < r[2] <= now]
        rows = requests(*(r[:3] for r in ended))
        rows["tid"] = [r[3] for r in ended]
        fired = [watching.fired(rows)]
        rows = under_way(*((r[0], r[1], r[3]) for r in all_rows if r[1] <= now < r[2]))
        fired.append(watching.hanging(rows, now))
        for one in fired:
            if one is not None:
                assert (one.tid, one.ts) not in told
                told.add((one.tid, one.ts))
    assert told <= late
    assert bool(told) == bool(late)
