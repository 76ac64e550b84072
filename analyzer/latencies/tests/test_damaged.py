"""A damaged file is refused, or has the figures of the whole one: see ``damaged.py``."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from rcp.analyzer.latencies.files import open_latencies
from rcp.analyzer.latencies.latency import LatencyError
from rcp.analyzer.latencies.tests.damaged import (
    CUT,
    FLIPPED,
    JOINED,
    DamageError,
    Reader,
    cuts,
    flipped,
    joined,
)
from rcp.analyzer.latencies.tests.fuzz import try_case
from rcp.analyzer.latencies.tests.samples import SAMPLES, Sample

SEED = 34
N_CASES = 12
"""Of each kind: ``make fuzz`` tries many more."""


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))
def test_a_cut_file_is_whole_or_refused(sample: Sample, tmp_path: Path) -> None:
    rng, reader = Random(SEED), Reader(tmp_path)
    every = list(cuts(sample, rng))
    for data in rng.sample(every, N_CASES):
        reader.check(sample, CUT, data)


@pytest.mark.parametrize("sample", SAMPLES.values(), ids=list(SAMPLES))
def test_other_damage_changes_one_request_at_most(sample: Sample, tmp_path: Path) -> None:
    rng, reader = Random(SEED), Reader(tmp_path)
    for _ in range(N_CASES):
        reader.check(sample, JOINED, joined(sample, rng))
        reader.check(sample, FLIPPED, flipped(sample, rng))


@pytest.mark.parametrize("start", ["\n", " ", "\t", "====== ", "[\n", "{ ", "RUN\t", "x: ", "0 "])
def test_a_file_of_one_mark_is_told_soon(start: str, tmp_path: Path) -> None:
    """No recognizer tries all ways to part it: the bound only says that it ends."""
    path = tmp_path / "x"
    path.write_text((start * 4096)[:4095] + "\nx")
    began_s = time.process_time()
    with pytest.raises(LatencyError):
        open_latencies(path)
    assert time.process_time() - began_s < 5


def test_a_third_way_is_found(tmp_path: Path) -> None:
    sample, reader = SAMPLES["lines"], Reader(tmp_path)
    first = sample.data.partition(b"\n")[0] + b"\n"
    assert reader.check(sample, CUT, first) == "shorter"
    with pytest.raises(DamageError, match="1 requests of request where the whole has 8"):
        reader.check(sample, JOINED, first)
    with pytest.raises(DamageError, match="are not the first"):
        reader.check(sample, CUT, b"5ms\n")


def test_a_case_of_the_fuzzer_is_the_same_each_time(tmp_path: Path) -> None:
    found = [[try_case(Reader(tmp_path), "smoke", n) for n in range(20)] for _ in range(2)]
    assert found[0] == found[1]
    assert [one.fault for one in found[0] if one.fault] == []
