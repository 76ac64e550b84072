import errno
import os
import signal
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

from rcp.probes.contract.events import REQUEST, SLEEP, TASK
from rcp.probes.contract.spool import open_spool
from rcp.probes.drain import Recorder
from rcp.probes.flight.flight import Flight, FlightPlan, announce
from rcp.probes.flight.rolling import RollingSpool
from rcp.probes.flight.triggers import Watch, parse_trigger
from rcp.probes.kernel.features import Features
from rcp.probes.plan import Plan, describe
from rcp.probes.program import Options
from rcp.probes.record import Ended, record_from
from rcp.probes.requests.points import Requests
from rcp.probes.signals import Signals

if TYPE_CHECKING:
    from rcp.probes.tests.conftest import ArraySource, Clock

NAMES = {74: "fsync", 75: "fdatasync"}
S, MS = 1_000_000_000, 1_000_000

Fly = Callable[..., SimpleNamespace]


def flight_plan(folder: Path, *when: str, keep_s: int = 8, max_dumps: int = 9) -> FlightPlan:
    return FlightPlan(
        keep_ns=keep_s * S,
        triggers=tuple(parse_trigger(text, NAMES.values()) for text in when),
        after_ns=2 * S,
        max_dumps=max_dumps,
        dump_path=lambda number: folder / f"dump-{number}.spool",
    )


@pytest.fixture
def fly(tmp_path: Path, source: "ArraySource", clock: "Clock", features: Features) -> Fly:
    """A flight recorder that takes one step a second of a clock that is set by hand."""

    def of(*when: str, **settings: int) -> SimpleNamespace:
        plan = flight_plan(tmp_path, *when, **settings)
        meta = describe(
            Plan(tmp_path / "x", Options(requests=Requests(NAMES)), features, [], flight=plan)
        )
        meta["clock"].update(started_monotonic_ns=clock.now_ns, started_realtime_ns=5 * S)
        spool = RollingSpool(tmp_path / "window.spool", meta, plan.keep_ns, 1 << 30, clock)
        said: list[str] = []
        began_ns, set_ns = clock.now_ns, [0]
        flight = Flight(
            *(plan, Watch(plan.triggers, NAMES), spool, meta, said.append, clock),
            lambda: 5 * S + clock.now_ns - began_ns + set_ns[0],
        )
        recorder = Recorder(source, spool, on_requests=flight.check)

        def step() -> None:
            clock.pass_s(1)
            recorder.drain()
            flight.step(recorder, source)

        return SimpleNamespace(
            flight=flight, recorder=recorder, step=step, said=said, set_ns=set_ns
        )

    return of


def test_a_slow_request_is_in_the_dump_with_what_came_before_and_after(
    fly: Fly, source: "ArraySource", clock: "Clock", tmp_path: Path
) -> None:
    flown = fly("fsync>20ms")
    source.put("task", tid=7, comm=b"writer")
    for second in range(30):
        source.put("sleep", tid=second, stack_id=second)
        if second == 20:
            slow_ts = clock.now_ns
            source.put("request", ts=slow_ts, end_ns=slow_ts + 73 * MS, tid=7, nr=74)
        source.put("request", ts=clock.now_ns, end_ns=clock.now_ns + MS, tid=7, nr=74)
        flown.step()
    assert flown.flight.dumps == [tmp_path / "dump-1.spool"]
    assert flown.said[0].startswith(
        "fsync of thread 7 took 73.0 ms (fsync>20ms): wrote the last 9.0 s to "
    )
    dump = open_spool(tmp_path / "dump-1.spool")
    # 8 s before it was written, which was 2 s after the slow request
    assert dump.records(SLEEP)["tid"].tolist() == list(range(14, 23))
    assert dump.records(TASK)["comm"].tolist() == [b"writer"]
    assert (dump.records(REQUEST)["end_ns"] - dump.records(REQUEST)["ts"]).max() == 73 * MS
    assert set(range(14, 23)) <= set(dump.stacks())
    assert dump.end is not None
    assert (dump.end["why"], dump.end["detail"]) == (
        "trigger",
        "fsync of thread 7 took 73.0 ms (fsync>20ms)",
    )
    assert dump.meta["trigger"]["requests"] == [
        {
            "trigger": "fsync>20ms",
            "request": "fsync",
            "tid": 7,
            "ts": slow_ts,
            "dur_ns": 73 * MS,
            "is_finished": True,
        }
    ]
    assert dump.meta["flight"] == {"keep_ns": 8 * S, "after_ns": 2 * S, "when": ["fsync>20ms"]}
    # the dump's clock starts with its window: 14 s after the recorder did
    assert dump.meta["clock"]["started_realtime_ns"] == 5 * S + 14 * S


@pytest.mark.parametrize("set_by_ns", [3600 * S, -7200 * S])
def test_a_dump_begins_when_it_did_although_the_clock_was_set(fly: Fly, set_by_ns: int) -> None:
    flown = fly()
    for _ in range(20):
        flown.step()
    flown.set_ns[0] = set_by_ns  # a suspend moves it in the same way
    flown.flight.trigger_now()
    flown.step()
    dump = open_spool(flown.flight.dumps[0])
    assert dump.end is not None
    length_ns = dump.end["ended_monotonic_ns"] - dump.meta["clock"]["started_monotonic_ns"]
    # 21 s after the recorder started
    assert dump.meta["clock"]["started_realtime_ns"] == 5 * S + 21 * S + set_by_ns - length_ns


def test_requests_under_way_are_in_the_dump(fly: Fly, source: "ArraySource") -> None:
    flown = fly()
    source.put("request", ts=1, end_ns=2)
    source.unfinished = source.drain(REQUEST)
    source.unfinished["end_ns"] = 0
    flown.flight.trigger_now()
    flown.step()
    assert open_spool(flown.flight.dumps[0]).records(REQUEST)["end_ns"].tolist() == [0]


def test_a_request_that_hangs_is_dumped_once(
    fly: Fly, source: "ArraySource", clock: "Clock"
) -> None:
    flown = fly("fsync>1500ms")
    source.put("request", ts=clock.now_ns, tid=7, nr=74)
    source.unfinished = source.drain(REQUEST)
    for _ in range(30):
        flown.step()
    (said,) = flown.said
    assert said.startswith(
        "fsync of thread 7 has taken 2000.0 ms and is not finished (fsync>1.5s): wrote the last "
    )
    assert open_spool(flown.flight.dumps[0]).records(REQUEST)["tid"].tolist() == [7]


def test_it_goes_on_after_a_dump_until_there_are_enough(
    fly: Fly, source: "ArraySource", clock: "Clock", tmp_path: Path
) -> None:
    flown = fly("request>20ms", max_dumps=2)
    for second in range(12):
        if second in (2, 3, 8):  # the second one falls into the first dump
            source.put("request", ts=1, end_ns=1 + 30 * MS, tid=second)
        flown.step()
        assert flown.flight.is_full == (second >= 10)
    assert flown.flight.dumps == [tmp_path / "dump-1.spool", tmp_path / "dump-2.spool"]
    tids = [
        [r["tid"] for r in open_spool(d).meta["trigger"]["requests"]] for d in flown.flight.dumps
    ]
    assert tids == [[2, 3], [8]]


def test_losses_of_a_dump_are_those_of_its_window(fly: Fly, source: "ArraySource") -> None:
    flown = fly()
    for second in range(20):
        source.lost["sleep"] = 5 if second < 10 else 7
        flown.recorder.housekeep()
        flown.step()
    flown.flight.dump(flown.recorder, source)
    assert open_spool(flown.flight.dumps[0]).counters["lost"]["sleep"] == [0]
    source.lost["sleep"] = 10
    flown.flight.dump(flown.recorder, source)
    assert open_spool(flown.flight.dumps[1]).counters["lost"]["sleep"] == [3]


def test_a_dump_that_does_not_fit_is_removed_and_the_window_stays(
    fly: Fly, source: "ArraySource", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flown = fly()
    source.put("sleep", tid=3)
    flown.step()

    def full(*_: object) -> None:
        (tmp_path / "dump-1.spool").mkdir()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RollingSpool, "dump", full)
    with pytest.raises(OSError, match="No space left"):
        flown.flight.dump(flown.recorder, source)
    assert not (tmp_path / "dump-1.spool").exists()
    assert flown.flight.dumps == []
    assert open_spool(tmp_path / "window.spool").records(SLEEP)["tid"].tolist() == [3]


def recorded(
    source: "ArraySource",
    features: Features,
    folder: Path,
    plan: FlightPlan,
    on_drain: Callable[[int], None],
    duration_s: float | None = None,
) -> Ended:
    """What the recorder does with a source; ``on_drain`` gets the number of the drain."""
    n_drains = 0

    def drained() -> None:
        nonlocal n_drains
        n_drains += 1
        on_drain(n_drains)

    source.on_drain = drained
    signals = Signals(usr1=True)
    whole = Plan(
        folder / "r.spool",
        Options(requests=Requests(NAMES)),
        features,
        [],
        duration_s=duration_s,
        flight=plan,
    )
    with signals.caught():
        return record_from(source, whole, lambda _text: None, signals)


def test_sigusr1_writes_the_window_and_sigint_ends_without_another(
    source: "ArraySource", features: Features, tmp_path: Path
) -> None:
    def signalled(n_drains: int) -> None:
        source.put("sleep", tid=n_drains)
        if n_drains == 2:
            os.kill(os.getpid(), signal.SIGUSR1)
        if n_drains == 4:
            os.kill(os.getpid(), signal.SIGINT)

    ended = recorded(source, features, tmp_path, flight_plan(tmp_path, "request>1s"), signalled)
    assert (ended.why, ended.detail) == ("signal", "SIGINT")
    assert ended.dumps == (tmp_path / "dump-1.spool",)
    assert not (tmp_path / "r.spool").exists()
    dump = open_spool(ended.dumps[0])
    assert dump.end is not None
    assert dump.end["detail"] == "SIGUSR1"
    assert set(dump.records(SLEEP)["tid"]) >= {1}


def test_what_fired_just_before_the_end_is_still_written(
    source: "ArraySource", features: Features, tmp_path: Path
) -> None:
    def slow(n_drains: int) -> None:
        if n_drains == 1:
            source.put("request", ts=1, end_ns=1 + 3 * S, nr=74)

    ended = recorded(
        source, features, tmp_path, flight_plan(tmp_path, "request>1s"), slow, duration_s=0.1
    )
    assert ended.why == "duration"
    assert len(open_spool(ended.dumps[0]).records(REQUEST)) == 1


def test_enough_dumps_end_the_recording(
    source: "ArraySource", features: Features, tmp_path: Path
) -> None:
    plan = flight_plan(tmp_path, max_dumps=1)
    ended = recorded(
        source, features, tmp_path, plan, lambda _n: os.kill(os.getpid(), signal.SIGUSR1)
    )
    assert (ended.why, ended.detail) == ("dumps", "1 written (--max-dumps)")


def test_a_full_disk_ends_it_and_keeps_the_window(
    source: "ArraySource", features: Features, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source.put("sleep", tid=3)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(RollingSpool, "dump", full)
    ended = recorded(
        source,
        features,
        tmp_path,
        flight_plan(tmp_path),
        lambda _n: os.kill(os.getpid(), signal.SIGUSR1),
    )
    assert (ended.why, ended.detail) == ("disk", "cannot write the spool: No space left on device")
    assert ended.dumps == ()
    assert open_spool(tmp_path / "r.spool").records(SLEEP)["tid"].tolist() == [3]


def test_it_says_what_it_waits_for(tmp_path: Path) -> None:
    assert announce(flight_plan(tmp_path, "fsync>20ms", "request>1s")) == (
        "keeping the last 8s until fsync>20ms or request>1s, or SIGUSR1; Ctrl-C ends it…"
    )
    assert announce(flight_plan(tmp_path)) == "keeping the last 8s until SIGUSR1; Ctrl-C ends it…"
