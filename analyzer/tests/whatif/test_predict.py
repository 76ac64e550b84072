"""What requests would take without a culprit: worlds in, latencies out, by hand."""

from collections.abc import Callable
from typing import Any

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.tests.whatif.worlds import (
    BACKUP,
    OTHER,
    READER,
    SERVER,
    ns,
    predicted,
    read_io,
    world,
)
from rcp.analyzer.whatif.arrivals import detected
from rcp.analyzer.whatif.recorded import read_recorded
from rcp.fixtures.synth import READ, Synth
from rcp.probes.contract.events import WaitReason

Load = Callable[[Synth], Store]


def test_a_lock_that_the_culprit_held_is_free(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1800, waker=BACKUP, stack=["down_read"])
    store = load(synth)
    assert ns(predicted(store, "backup").predicted_ns) == [300]
    assert ns(predicted(store, "other").predicted_ns) == [1000]


def test_who_holds_the_lock_before_or_after_the_culprit_still_does(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1800, waker=OTHER, stack=["down_read"])
    synth.sleep(OTHER, 1100, 1600, waker=BACKUP, stack=["down_write"])
    store = load(synth)
    # The other holds it from 1600 to 1800.
    assert ns(predicted(store, "backup").predicted_ns) == [500]
    assert ns(predicted(store, "role:background").predicted_ns) == [300]


def test_who_only_passes_a_lock_on_takes_its_own_turn_along(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    lock: dict[str, Any] = {"reason": WaitReason.LOCK, "obj": 0xFFFF8000}
    synth.sleep(READER, 1100, 1800, waker=BACKUP, **lock)
    synth.sleep(BACKUP, 1050, 1600, waker=OTHER, **lock)
    # The backup holds it from 1600 to 1800, the other one before.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [800]


def test_an_io_with_the_culprits_data_is_not_waited_for(load: Load) -> None:
    synth = world()
    io = synth.io(BACKUP, 1100, 1900)
    synth.request(READER, 1000, 2000)
    synth.sleep(READER, 1100, 1900, io=io, stack=["folio_wait_writeback"])
    assert ns(predicted(load(synth), "backup").predicted_ns) == [200]


def test_the_device_serves_others_in_the_culprits_time(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)  # alone: 100 ns at the device
    synth.io(BACKUP, 1500, 2400)
    synth.io(OTHER, 1500, 2700, issued=2400)
    read_io(synth, 2000, 2820, issued=2700)
    store = load(synth)
    # It waits 390 ns for the backup and 300 for the other, and takes 130 of its own.
    assert ns(predicted(store, "backup").predicted_ns) == [120, 430]
    assert ns(predicted(store, "other").predicted_ns) == [120, 520]
    assert ns(predicted(store, "backup", "other").predicted_ns) == [120, 130]


def test_what_piled_up_behind_the_culprit_dissolves_when_arrivals_are_open(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1500, 2400)
    synth.io(OTHER, 1500, 2700, issued=2400)
    read_io(synth, 2000, 2820, issued=2700)
    # Without the backup the other's io is done at 1800, before the read arrives.
    open_ns = predicted(load(synth), "backup", arrivals="open").predicted_ns
    assert ns(open_ns) == [120, 130]


def test_an_io_takes_at_least_what_it_takes_alone(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1990, 2600)
    read_io(synth, 2000, 2320)  # beside the backup's: 300 ns
    assert ns(predicted(load(synth), "backup").predicted_ns)[1] >= 120


def test_what_an_io_waits_at_the_device_is_divided_among_the_others(load: Load) -> None:
    """The device stalls for 4 us; alone the read takes 100 ns, so it waits for the others only."""
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1900, 6010, op=0)
    read_io(synth, 2000, 6020)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 120]


@pytest.mark.parametrize(("until", "expected_ns"), [(2300, 120), (2200, 130), (2050, 330)])
def test_a_device_is_busy_for_a_while_with_what_the_culprits_io_left(
    load: Load, until: int, expected_ns: int
) -> None:
    """That is at most what the culprit's io takes alone, up to 100 ns; the rest is something else.

    From 2010 on the read waits for 300 ns: beside an io until 2200 for 190 + 100, beside one until
    2050 for 40 + 50.
    """
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 2000, until, op=0)
    read_io(synth, 2000, 2420)
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found == [120, expected_ns]


def test_a_wait_for_a_tag_is_gone_when_the_culprit_has_most_of_them(load: Load) -> None:
    """Blamed on it are 225 of 300 ns. It ends with an io of another one, who had the fourth tag."""
    synth = world()
    read_io(synth, 1000, 1120)
    ios = [synth.io(owner, 1900, 2400) for owner in (BACKUP, BACKUP, BACKUP, SERVER)]
    synth.request(READER, 2000, 2620, nr=READ)
    synth.sleep(READER, 2100, 2400, io=ios[-1], reason=WaitReason.ADMISSION_TAG)
    own = synth.io(READER, 2100, 2510, got=2410, issued=2410, op=0)
    synth.sleep(READER, 2420, 2510, io=own)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 320]


@pytest.mark.parametrize(("n_of_culprit", "expected_ns"), [(3, 320), (1, 595)])
def test_a_wait_for_a_tag_that_is_gone_needs_no_wake_up(
    load: Load, n_of_culprit: int, expected_ns: int
) -> None:
    """It gets a CPU 50 ns after it gets the tag. Of 300 ns 75 are blamed on each tag's owner."""
    synth = world()
    read_io(synth, 1000, 1120)
    owners = [BACKUP] * n_of_culprit + [SERVER] * (4 - n_of_culprit)
    ios = [synth.io(owner, 1900, 2400) for owner in owners]
    synth.request(READER, 2000, 2670, nr=READ)
    synth.sleep(READER, 2100, 2400, 2450, io=ios[-1], reason=WaitReason.ADMISSION_TAG)
    own = synth.io(READER, 2100, 2560, got=2460, issued=2460, op=0)
    synth.sleep(READER, 2470, 2560, io=own)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, expected_ns]


def test_on_a_faster_device_a_tag_is_free_sooner_too(load: Load) -> None:
    """150 ns less for the io whose tag is waited for, and 45 for the read itself."""
    synth = world()
    io = synth.io(SERVER, 1900, 2400)
    synth.request(READER, 2000, 2620, nr=READ)
    synth.sleep(READER, 2100, 2400, io=io, reason=WaitReason.ADMISSION_TAG)
    own = synth.io(READER, 2100, 2510, got=2410, issued=2410, op=0)
    synth.sleep(READER, 2420, 2510, io=own)
    assert ns(predicted(load(synth), faster=["device=2x"]).predicted_ns) == [425]


def test_a_wait_that_is_gone_needs_no_wake_up(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1700, 1800, waker=BACKUP, stack=["down_read"])
    store = load(synth)
    assert ns(predicted(store, "backup").predicted_ns) == [300]
    assert ns(predicted(store, "other").predicted_ns) == [1000]


def test_a_wait_of_which_something_is_left_still_ends_with_a_wake_up(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1700, 1800, waker=OTHER, stack=["down_read"])
    synth.sleep(OTHER, 1100, 1600, waker=BACKUP, stack=["down_write"])
    assert ns(predicted(load(synth), "backup").predicted_ns) == [500]


@pytest.mark.parametrize(("alike", "expected_ns"), [(3, 50), (2, 300)])
def test_a_request_that_waits_for_nothing_any_more_is_as_fast_as_those_that_did_not(
    load: Load, alike: int, expected_ns: int
) -> None:
    """Falling asleep and going on take time too; from three like it on, what they take is known."""
    synth = world()
    for number in range(alike):
        synth.request(READER, 100 * (1 + number), 100 * (1 + number) + 50, nr=READ)
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1800, waker=BACKUP, stack=["down_read"])
    found = ns(predicted(load(synth), "backup").predicted_ns)
    assert found == [50] * alike + [expected_ns]


def test_a_flush_shrinks_by_the_culprits_part_of_what_it_writes_out(load: Load) -> None:
    synth = world()
    for ts, took, writer in ((1000, 100, 0), (2000, 100, 0), (3000, 500, BACKUP)):
        if writer:
            synth.io(writer, ts - 400, ts - 300, size=3 << 20)
            synth.io(READER, ts - 300, ts - 200, size=1 << 20)
        io = synth.io(READER, ts + 10, ts + 10 + took, op=2, size=0)
        synth.request(READER, ts, ts + 20 + took)
        synth.sleep(READER, ts + 10, ts + 10 + took, io=io)
    # The excess is 400 ns; three quarters of the bytes are the backup's.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 120, 220]


def test_a_cpu_that_the_culprit_had_is_free(load: Load) -> None:
    synth = world()
    synth.request(READER, 1_000_000, 3_000_000, nr=READ)
    synth.preempt(READER, 1_500_000, 2_500_000, ran=BACKUP)
    synth.sleep(BACKUP, 900_000, 1_500_000, interrupt=True)
    synth.sleep(BACKUP, 2_500_000, 4_000_000, interrupt=True)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [1_000_000]


def test_a_peer_that_answers_still_takes_its_time(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1900, waker=SERVER, stack=["pipe_read"])
    assert ns(predicted(load(synth), "server").predicted_ns) == [1000]


@pytest.mark.parametrize(("factor", "expected_ns"), [("2x", 70), ("4", 45), ("1x", 120)])
def test_a_faster_device_takes_less_time(load: Load, factor: str, expected_ns: int) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    found = predicted(load(synth), faster=[f"nvme0n1={factor}"])
    assert ns(found.predicted_ns) == [expected_ns]


def test_a_pattern_is_what_its_inversions_blame(load: Load) -> None:
    synth = world()
    synth.request(READER, 1000, 2000, nr=READ)
    synth.sleep(READER, 1100, 1800, waker=BACKUP, stack=["down_read"])
    assert ns(predicted(load(synth), "#1").predicted_ns) == [300]


def test_the_range_holds_the_prediction(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1500, 2400)
    synth.io(OTHER, 1500, 2700, issued=2400)
    read_io(synth, 2000, 2820, issued=2700)
    found = predicted(load(synth), "backup")
    assert ns(found.low_ns) == [120, 130]  # had the backup been the only reason to wait
    assert all(found.low_ns <= found.predicted_ns)
    assert all(found.predicted_ns <= found.high_ns)
    assert all(found.high_ns <= found.recorded_ns)


@pytest.mark.parametrize(
    ("starts", "arrivals"),
    [([1000, 2000, 3000, 4000, 5000], "open"), ([1000, 1500, 3000, 3400, 5000], "closed")],
)
def test_arrivals_are_open_where_starts_are_steadier_than_pauses(
    load: Load, starts: list[int], arrivals: str
) -> None:
    synth = world()
    pauses = (100, 800, 400, 700, 500)
    for ts, pause in zip(starts, pauses, strict=True):
        following = [start for start in starts if start > ts]
        end = following[0] - 100 if arrivals == "closed" and following else ts + 1000 - pause
        synth.request(READER, ts, end, nr=READ)
    assert detected(read_recorded(load(synth)).requests) == arrivals


def test_a_flusher_that_has_the_cpu_for_the_culprits_data_is_gone_too(load: Load) -> None:
    synth = world()
    flusher = synth.task("kworker/u4:1", tid=7, kthread=True)
    synth.io(BACKUP, 100, 1100, size=3 << 20)
    synth.io(OTHER, 2000, 3000, size=1 << 20)
    synth.sleep(flusher, 50, 1_400_000, interrupt=True)
    synth.sleep(flusher, 2_400_000, 3_500_000, interrupt=True)
    synth.request(READER, 1_000_000, 3_000_000, nr=READ)
    synth.preempt(READER, 1_400_000, 2_400_000, ran=flusher)
    # It ran for 1 ms; three quarters of the data written before were the backup's.
    assert ns(predicted(load(synth), "backup").predicted_ns) == [1_250_000]


def test_an_idle_device_is_kept_free_for_those_that_it_served_last(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(BACKUP, 1500, 2100)
    read_io(synth, 2000, 2820, issued=2700)  # from 2100 to 2700 the scheduler waits for the backup
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 130]


def test_a_device_slows_nobody_down_when_it_did_nothing_for_the_culprit(load: Load) -> None:
    synth = world()
    read_io(synth, 1000, 1120)
    synth.io(OTHER, 1500, 2700)
    read_io(synth, 2000, 2820, issued=2700)
    assert ns(predicted(load(synth), "backup").predicted_ns) == [120, 820]
