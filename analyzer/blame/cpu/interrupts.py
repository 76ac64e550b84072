"""Interrupts for others' ios: the CPU of a task that suspects' ios took to end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.enough import in_requests_with_enough
from rcp.analyzer.paths.segments import Segments


def interrupted_for(rules: Contention, chosen: Positions) -> Candidates:
    """Blame those whose data the ios carry for segments in which interrupts end these.

    Each takes some us only, so they count where a request has enough of them. Of an io that was
    waited for, the end is a part of that wait.
    """
    segments, blame = rules.paths.segments, rules.blame
    io = segments.io[chosen]
    top = blame.io.utid[io]
    row, who, part = blame.members.split(blame.set_of_io[io], top)
    party = rules.parties.of_segments(segments, chosen)[row]
    guilty = np.flatnonzero((top[row] >= 0) & rules.suspects.is_suspect(who, party))
    row, who, part = row[guilty], who[guilty], part[guilty] * blame.io.share[io[row[guilty]]]
    at = chosen[row]
    dur = segments.dur[at]
    enough = in_requests_with_enough(segments, at, np.floor(dur * part).astype(np.int64))
    at, who, part, dur = at[enough], who[enough], part[enough], dur[enough]
    waited = _waits_for_it(segments, at)
    edge = segments.edge[np.where(waited, at - 1, at)]
    kind = np.where(waited, KIND["io_dependency"], KIND["interrupt"])
    return candidate_rows(at, kind, who, dur, edge, edge, 1.0, part=part)


def _waits_for_it(segments: Segments, at: Positions) -> npt.NDArray[np.bool_]:
    """Return which interrupts end the io that their task has waited for right before."""
    before = np.maximum(at - 1, 0)
    ended = segments.ts[before] + segments.dur[before]
    waits: npt.NDArray[np.bool_] = segments.io[before] == segments.io[at]
    waits &= (segments.request[before] == segments.request[at]) & (ended == segments.ts[at])
    return waits & (before < at)
