"""Which cgroups are below which, and what limits count for one."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.cgroups import Cgroups
from rcp.analyzer.tests.blame.found import trace_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import LimitedResource

ROOT, PODS, POD, DATABASE, BACKUP, ALONE = 1, 10, 20, 21, 22, 99
MS = 1_000_000
CPU, WRITES = LimitedResource.CPU, LimitedResource.WRITE_IOS


def pods() -> Synth:
    """A pod with two containers."""
    synth = Synth()
    above = {PODS: ROOT, POD: PODS, DATABASE: POD, BACKUP: POD}
    for one, parent in {ROOT: 0, **above}.items():
        synth.cgroup(one, parent, f"cgroup-{one}" if parent else "")
    return synth


def test_the_tree_is_followed_from_the_root_down() -> None:
    cgroups = Cgroups.of(trace_of(pods()))
    assert cgroups.path(DATABASE) == [ROOT, PODS, POD, DATABASE]
    assert cgroups.path(ROOT) == [ROOT]
    ids = np.array([BACKUP, PODS, DATABASE, BACKUP, ALONE, ROOT])
    assert cgroups.at_depth(ids, 2).tolist() == [POD, 0, POD, POD, 0, 0]
    assert cgroups.is_within(ids, POD).tolist() == [True, False, True, True, False, False]
    assert cgroups.is_within(ids, BACKUP).tolist() == [True, False, False, True, False, False]
    assert cgroups.at_depth(np.empty(0, np.int64), 1).tolist() == []


def test_a_cgroup_without_a_known_parent_is_alone() -> None:
    cgroups = Cgroups.of(trace_of(pods()))
    ids = np.array([ALONE, BACKUP])
    assert cgroups.path(ALONE) == [ALONE]
    assert cgroups.at_depth(ids, 0).tolist() == [ALONE, ROOT]
    assert cgroups.is_within(ids, ALONE).tolist() == [True, False]


def test_parents_in_a_ring_end_somewhere() -> None:
    synth = Synth()
    synth.cgroup(7, 8)
    synth.cgroup(8, 7)
    cgroups = Cgroups.of(trace_of(synth))
    assert set(cgroups.path(7)) == {7, 8}
    assert 0 < len(cgroups.path(7)) < 100
    assert cgroups.is_within(np.array([7, 9]), 7).tolist() == [True, False]


def test_ids_of_a_damaged_recording_may_be_anything() -> None:
    synth = Synth()
    synth.cgroup(7, (1 << 64) - 1)
    cgroups = Cgroups.of(trace_of(synth))
    assert cgroups.at_depth(np.array([7, ALONE]), 0).tolist() == [-1, ALONE]


def test_limits_count_from_above_and_as_they_were_at_the_time() -> None:
    synth = pods()
    synth.limit(POD, CPU, 20_000_000, period_us=100_000, ts=10 * MS)
    synth.limit(POD, CPU, 0, period_us=100_000, ts=50 * MS)
    synth.limit(DATABASE, CPU, 10_000_000, period_us=100_000)
    synth.limit(BACKUP, CPU, 1, period_us=100_000)
    synth.limit(DATABASE, WRITES, 500, dev=8)
    cgroups = Cgroups.of(trace_of(synth))
    pod, database = cgroups.limits_for(DATABASE, (CPU,))
    assert (pod.cgroup, database.cgroup) == (POD, DATABASE)
    # A fifth of the time: before it is known too, but not after it is gone, or when that is found.
    amount, dur = np.array([100, 100, 100, 100]), np.array([500, 1000, 1000, 1000])
    time = np.array([0, 20 * MS, 60 * MS, 50 * MS - 1000])
    assert pod.used(amount, dur, time).tolist() == [1.0, 0.5, 0.0, 0.0]
    (writes,) = cgroups.limits_for(DATABASE, (WRITES,), 8)
    second = np.array([1_000_000_000])
    assert writes.used(np.array([250]), second, second).tolist() == [0.5]
    assert cgroups.limits_for(DATABASE, (WRITES,), 9) == []
    assert cgroups.limits_for(ALONE, (CPU,)) == []
