"""Interrupts for others' ios: the CPU of a task that suspects' ios took to end."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.cpu.enough import in_requests_with_enough
from rcp.analyzer.blame.parties import Parties
from rcp.analyzer.blame.suspects import Blame, Suspects
from rcp.analyzer.paths.segments import Segments


def interrupted_for(
    segments: Segments,
    chosen: Positions,
    parties: Parties,
    suspects: Suspects,
    blame: Blame,
) -> Candidates:
    """Blame those whose data the ios carry for segments in which interrupts end these.

    Each takes some us only, so they count where a request has enough of them.
    """
    io = segments.io[chosen]
    top = blame.io.utid[io]
    row, who, part = blame.members.split(blame.set_of_io[io], top)
    party = parties.of_segments(segments, chosen)[row]
    guilty = np.flatnonzero((top[row] >= 0) & suspects.is_suspect(who, party))
    row, who, part = row[guilty], who[guilty], part[guilty] * blame.io.share[io[row[guilty]]]
    at = chosen[row]
    dur = segments.dur[at]
    enough = in_requests_with_enough(segments, at, np.floor(dur * part).astype(np.int64))
    at, who, part, dur = at[enough], who[enough], part[enough], dur[enough]
    edge = segments.edge[at]
    return candidate_rows(at, KIND["interrupt"], who, dur, edge, edge, 1.0, part=part)
