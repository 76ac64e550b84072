"""The time of an io alone, from ios that never were."""

from __future__ import annotations

import numpy as np
import pytest

from rcp.analyzer.arrays.trace import Ios
from rcp.analyzer.blame.device.service_model import MIN_IOS, modelled_solo_ns
from rcp.analyzer.blame.device.solo import solo_service_ns
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS

US = 1000
SIZES = (4096, 65536, 524288)


def served(seed: int, read_us: int, write_us: int, ns_per_kib: int, *, n: int = 600) -> Synth:
    """Ios that a disk serves in order, one after another; three or more are always there."""
    random, synth = np.random.default_rng(seed), Synth()
    task, free, ends = synth.task("a"), 1_000_000, [1_000_000] * 8
    for _ in range(n):
        op, size = int(random.integers(2)), int(random.choice(SIZES))
        alone = (read_us, write_us)[op] * US + size // 1024 * ns_per_kib
        issued = max(ends[-int(random.integers(3, 8))], ends[0])
        free = max(free, issued) + alone
        ends.append(free)
        synth.io(task, issued, free, op=op, size=size)
    return synth


def ios_of(synth: Synth) -> Ios:
    return build_trace({record.name: synth.records(record) for record in RECORDS}, [], {}).ios


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    """95 % is what it says; disks that serve in order, with times of their own each."""
    random, held = np.random.default_rng(5), []
    for seed in range(60):
        read_us, write_us = (int(random.integers(50, 400)) for _ in range(2))
        ns_per_kib = int(random.integers(100, 3000))
        ios = ios_of(served(seed, read_us, write_us, ns_per_kib))
        # One io of each operation and size: all of a kind have the same estimate.
        kinds = np.stack((ios.op.astype(np.int64), ios.bytes.astype(np.int64)), axis=1)
        one = np.unique(kinds, axis=0, return_index=True)[1].astype(np.int32)
        model = modelled_solo_ns(ios, one)
        request = np.where(ios.op[one] == 0, read_us, write_us) * US
        truth = request + ios.bytes[one].astype(np.int64) // 1024 * ns_per_kib
        error = np.abs(model.estimate - truth)
        held += (error <= model.high - model.estimate)[model.known].tolist()
        assert (error < truth / 2)[model.known].all()
    assert len(held) > 60
    assert np.mean(held) >= 0.9


@pytest.mark.parametrize("seed", range(5))
def test_it_knows_large_ios_better_than_the_least_time_seen(seed: int) -> None:
    ios = ios_of(served(seed, 100, 200, 2000))
    large = np.flatnonzero(ios.bytes == SIZES[-1]).astype(np.int32)
    model = modelled_solo_ns(ios, large)
    assert model.known.all()
    truth = np.where(ios.op[large] == 0, 100, 200) * US + 512 * 2000
    least, guessed = solo_service_ns(ios)
    assert guessed[large].all()
    error, former = (np.abs(solo - truth).max() for solo in (model.estimate, least[large]))
    assert error < former / 2


def test_a_disk_that_serves_all_at_once_takes_no_longer_for_company() -> None:
    random, synth = np.random.default_rng(1), Synth()
    task = synth.task("a")
    for at in range(400):
        size, op = int(random.choice(SIZES)), int(random.integers(2))
        issued = at * 40 * US + int(random.integers(30 * US))
        synth.io(task, issued, issued + 200 * US + size // 10, op=op, size=size)
    ios = ios_of(synth)
    model = modelled_solo_ns(ios, np.arange(len(ios), dtype=np.int32))
    assert model.known.all()
    np.testing.assert_allclose(model.estimate, ios.completed - ios.issued, rtol=0.05)


@pytest.mark.parametrize("n", [0, 10, MIN_IOS - 1])
def test_few_ios_make_no_model(n: int) -> None:
    ios = ios_of(served(1, 100, 100, 1000, n=n))
    assert not modelled_solo_ns(ios, np.arange(len(ios), dtype=np.int32)).known.any()


def test_one_depth_only_makes_no_model() -> None:
    """Always one other there: what it costs cannot be told from the io's own time."""
    synth = Synth()
    task = synth.task("a")
    for at in range(1, 500):
        synth.io(task, at * 100 * US, (at + 2) * 100 * US - 1)
    ios = ios_of(synth)
    late = np.arange(2, len(ios), dtype=np.int32)
    assert not modelled_solo_ns(ios, late).known.any()


def test_times_that_have_nothing_to_do_with_size_or_depth_make_no_model() -> None:
    random, synth = np.random.default_rng(3), Synth()
    task = synth.task("a")
    for at in range(300):
        took = int(10 ** random.uniform(3, 8))
        synth.io(task, at * 50 * US, at * 50 * US + took, op=at % 2, size=SIZES[at % 3])
    ios = ios_of(synth)
    assert not modelled_solo_ns(ios, np.arange(len(ios), dtype=np.int32)).known.all()
