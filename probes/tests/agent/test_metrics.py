"""What /metrics says, as prometheus_client's own parser reads it."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as plain_families
from prometheus_client.samples import Sample

from rcp.probes.agent.bounded import Bounded
from rcp.probes.agent.latency import bounds_ns, classic_bounds, classic_of
from rcp.probes.agent.metrics import Metrics, metric_labels
from rcp.probes.contract.events import REQUEST

NAMES = {74: "fsync", 75: "fdatasync"}
MS = 1_000_000


def analysis(*held_up: tuple[Any, ...], recording: str = "") -> dict[str, Any]:
    return {
        "dur_ns": 30_000 * MS,
        "n_requests": 5,
        "waits": [["lock", 7 * MS], ["device", MS]],
        "held_up": [list(row) for row in held_up],
        "worst": [["fsync", 17, 73 * MS]],
        "recording": recording,
        "n_waiting": 0,
        "problems": [],
    }


def requests(*durs_ns: int, nr: int = 74) -> np.ndarray[Any, np.dtype[np.void]]:
    rows = np.zeros(len(durs_ns), REQUEST.dtype)
    rows["ts"], rows["nr"] = 10**12, nr
    rows["end_ns"] = rows["ts"] + np.array(durs_ns, np.uint64)
    return rows


def samples(metrics: Metrics) -> list[Sample]:
    text = metrics.text(is_open=True)
    families = text_string_to_metric_families(text)  # type: ignore[no-untyped-call]
    return [sample for family in families for sample in family.samples]


def named(found: Iterable[Sample], name: str) -> dict[tuple[str, ...], float]:
    return {tuple(s.labels.values()): s.value for s in found if s.name == name}


def test_a_scrape_of_an_idle_agent_is_openmetrics() -> None:
    found = samples(Metrics(10))
    assert {"rcp_disk_full", "rcp_events_dropped_total"} <= {s.name for s in found}


def test_every_name_is_listed() -> None:
    metrics = Metrics(10)
    metrics.count_requests(requests(MS), NAMES)
    metrics.add_analysis("sample", analysis(("lock", "cp", "a > b", 1, MS, 3, MS)), 1.0)
    assert {s.name for s in samples(metrics)} <= metric_labels().keys()


def test_requests_are_counted_in_the_bucket_of_their_latency() -> None:
    metrics = Metrics(10)
    metrics.count_requests(requests(MS, 20 * MS, 20 * MS), NAMES)
    metrics.count_requests(requests(3 * MS, nr=75), NAMES)
    found = samples(metrics)
    assert named(found, "rcp_request_duration_seconds_count") == {("fsync",): 3, ("fdatasync",): 1}
    assert named(found, "rcp_request_duration_seconds_sum")[("fsync",)] == 0.041
    buckets = named(found, "rcp_request_duration_seconds_bucket")
    assert buckets[("fsync", repr(2.0**-10))] == 0  # 0.98 ms
    assert buckets[("fsync", repr(2.0**-9.5))] == 1
    assert buckets[("fsync", repr(2.0**-6))] == 1  # 15.6 ms
    assert buckets[("fsync", repr(2.0**-5.5))] == 3


def test_a_request_that_is_not_finished_is_not_counted() -> None:
    metrics = Metrics(10)
    rows = requests(MS, MS)
    rows["end_ns"][0] = 0
    metrics.count_requests(rows, NAMES)
    assert named(samples(metrics), "rcp_request_duration_seconds_count") == {("fsync",): 1}


@given(st.integers(1, 1 << 62))
def test_a_latency_is_in_the_first_classic_bucket_that_is_not_shorter(dur_ns: int) -> None:
    bounds = [float(bound) for bound in classic_bounds()]
    place = next(n for n, bound in enumerate(bounds) if dur_ns <= bound * 1e9)
    # A bound is the whole ns below it, so a float's rounding may say the next bucket.
    assert classic_of(dur_ns) in (place, place + 1)
    metrics = Metrics(1)
    metrics.count_requests(requests(dur_ns), NAMES)
    latency = metrics.latencies.by_name["fsync"]
    assert [latency.classic()[p] for p in (max(classic_of(dur_ns) - 1, 0), classic_of(dur_ns))] in (
        [0, 1],
        [1, 1],
    )
    assert latency.counts.sum() == 1


def test_bounds_are_exact() -> None:
    """The 128th power of a bound and of the next whole number are on both sides of the truth."""
    for place in (0, 1, 1279, 2559, 2560, 2561, len(bounds_ns()) - 1):
        k = place - 20 * 128
        bound = int(bounds_ns()[place])
        truth = 10 ** (9 * 128) * 2 ** max(k, 0)
        scale = 2 ** max(-k, 0)
        assert bound**128 * scale <= truth < (bound + 1) ** 128 * scale


def test_held_up_time_has_an_exemplar_that_can_be_looked_up() -> None:
    metrics = Metrics(10)
    metrics.count_requests(requests(73 * MS), NAMES)
    held = ("lock", "checkpointer", "fsync > lock", 2, 50 * MS, 17, 40 * MS)
    metrics.add_analysis("trigger", analysis(held, recording="/var/lib/a.duckdb"), 1234.5)
    found = samples(metrics)
    (series,) = [s for s in found if s.name == "rcp_held_up_seconds_total"]
    assert series.labels == {
        "source": "trigger",
        "kind": "lock",
        "culprit": "checkpointer",
        "pattern": "fsync > lock",
    }
    assert series.value == 0.05
    assert series.exemplar is not None
    assert series.exemplar.labels == {"recording": "a.duckdb", "request": "17"}
    assert series.exemplar.value == 0.04
    (bucket,) = [s for s in found if s.name.endswith("_bucket") and s.exemplar]
    assert bucket.exemplar is not None
    assert bucket.exemplar.value == 0.073 <= float(bucket.labels["le"])
    assert named(found, "rcp_wait_seconds_total") == {
        ("trigger", "lock"): 0.007,
        ("trigger", "device"): 0.001,
    }


def test_a_sample_is_not_kept_so_it_leaves_no_exemplar() -> None:
    metrics = Metrics(10)
    metrics.add_analysis("sample", analysis(("lock", "cp", "p", 1, MS, 3, MS)), 1.0)
    assert [s for s in samples(metrics) if s.exemplar] == []


@given(st.text(), st.text())
def test_any_name_of_a_thread_can_be_exported(culprit: str, pattern: str) -> None:
    metrics = Metrics(10)
    metrics.add_analysis("sample", analysis(("lock", culprit, pattern, 1, MS, 3, MS)), 1.0)
    (series,) = [s for s in samples(metrics) if s.name == "rcp_held_up_seconds_total"]
    cut = culprit.encode("utf-8", "replace").decode()
    assert series.labels["culprit"] == (cut if len(cut) <= 200 else cut[:199] + "…")
    plain = list(plain_families(metrics.text(is_open=False)))
    assert any(s.name == "rcp_held_up_seconds_total" for f in plain for s in f.samples)


@settings(max_examples=30)
@given(st.integers(0, 300), st.integers(1, 60), st.integers(0, 3))
def test_the_number_of_series_is_bounded(n_names: int, limit: int, seed: int) -> None:
    metrics = Metrics(limit)
    names = [f"worker-{seed}-{n}" for n in range(n_names)]
    metrics.add_analysis(
        "sample", analysis(*(("lock", name, "p", 1, MS, 3, MS) for name in names)), 1.0
    )
    found = named(samples(metrics), "rcp_held_up_seconds_total")
    assert len(found) == min(n_names, limit + 1)
    assert round(sum(found.values()) * 1000) == n_names  # nothing is left out
    folded = named(samples(metrics), "rcp_folded_names")[()]
    assert abs(folded - max(n_names - limit, 0)) <= 2


def test_100_000_names_are_as_many_series_as_200() -> None:
    bounded = Bounded(200)
    keys = {bounded.key(("lock", f"comm-{n}", f"p{n}")) for n in range(100_000)}
    again = {bounded.key(("lock", f"comm-{n}", f"p{n}")) for n in range(100_000)}
    assert keys == again
    assert len(keys) == 201
    assert ("other", "other", "other") in keys
    assert abs(bounded.n_folded - 99_800) < 0.01 * 99_800


def test_a_total_that_somebody_else_keeps_is_counted_once() -> None:
    metrics = Metrics(1)
    for value in (3, 5, 5):
        metrics.total("rcp_events_lost", value, "sleep")
    metrics.begin_totals()  # the probes were attached again
    metrics.total("rcp_events_lost", 2, "sleep")
    assert named(samples(metrics), "rcp_events_lost_total") == {("sleep",): 7}
