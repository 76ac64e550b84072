from typing import TYPE_CHECKING

import numpy as np
import pytest

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
