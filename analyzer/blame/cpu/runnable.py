"""Segments in which a task could run but did not: who had the CPU, or used up a limit of it."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.quota import used_up
from rcp.analyzer.blame.cpu.waits import CpuWaits
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE, QUOTA_CONFIDENCE


def cpu_taken(rules: Contention, chosen: Positions) -> Candidates:
    """Blame the suspect that ran longest meanwhile for segments spent runnable."""
    segments = rules.paths.segments
    party = rules.parties.of_segments(segments, chosen)
    of_servers, io = rules.asked.work, rules.blame.io
    waits = CpuWaits(rules.trace, segments, chosen, rules.suspects, party, io, of_servers)
    at, ran = waits.delayed()
    edge = segments.edge[at]
    confidence = np.where(ran.is_guess, MODEL_CONFIDENCE, 1.0)
    return candidate_rows(at, KIND["cpu"], ran.utid, ran.dur, edge, edge, confidence)


def quota_used_up(rules: Contention, chosen: Positions) -> Candidates:
    """Blame who used up a cgroup's CPU limit for segments that wait for its next period."""
    segments = rules.paths.segments
    lo, party = segments.ts[chosen], rules.parties.of_segments(segments, chosen)
    hi = lo + segments.dur[chosen]
    found = used_up(rules.trace, segments.utid[chosen], lo, hi, party, rules.suspects)
    at = chosen[found.wait]
    edge, dur = segments.edge[at], segments.dur[at]
    return candidate_rows(
        at, KIND["cpu_max"], found.utid, dur, edge, edge, QUOTA_CONFIDENCE, part=found.part
    )
