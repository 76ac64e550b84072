"""Inversions of a synthetic recording without a store, for tests that need hundreds."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.arrays.roles import parse_rules
from rcp.analyzer.arrays.trace import Trace
from rcp.analyzer.blame.candidates import KINDS
from rcp.analyzer.blame.causes import io_causes
from rcp.analyzer.blame.inversions import Inversions, find_inversions
from rcp.analyzer.loading.trace_columns import build_trace
from rcp.analyzer.paths.threads import paths_of
from rcp.fixtures.synth import Synth
from rcp.probes.contract.events import RECORDS


class Found(NamedTuple):
    """One inversion; of its ios ahead: the suspects' and all."""

    kind: str
    culprit: str
    dur: int
    confidence: float
    n_ios: float
    n_all: int


def trace_of(synth: Synth) -> Trace:
    """Return the recording as columns."""
    rows = {record.name: synth.records(record) for record in RECORDS}
    return build_trace(rows, parse_rules(synth.meta), synth.stacks)


def verdict(trace: Trace) -> Inversions:
    """Return the inversions of a recording without losses."""
    return find_inversions(trace, paths_of(trace), io_causes(trace), {})


def found(synth: Synth) -> list[Found]:
    """Return the inversions, the longest first."""
    trace = trace_of(synth)
    of = verdict(trace)
    rows = [
        Found(
            KINDS[of.kind[at]],
            trace.tasks.comm[of.culprit[at]],
            int(of.dur[at]),
            float(of.confidence[at]),
            float(of.beside.n_ios[at]),
            int(of.beside.n_all[at]),
        )
        for at in range(len(of))
    ]
    return sorted(rows, key=lambda row: -row.dur)
