"""CPU time of requests that write others' pages: an fsync writes all of a file, whoever dirtied it.

Until an io is queued its thread looks for dirty pages, maps their blocks and adds them to the io::

    fsync    |--- cpu ---|--- cpu ---|     waits for the ios
    queues               A           B
    for the dirtier   of A        of B

Only a request's own thread counts, whose work begins with the request at the earliest.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.cpu.enough import in_requests_with_enough
from rcp.analyzer.blame.device.evidence import MODEL_CONFIDENCE
from rcp.analyzer.blame.worked_for import WorkedFor


def prepared_for(rules: Contention, chosen: Positions) -> Candidates:
    """Blame those whose data ios carry for segments on a CPU in which a request prepares them."""
    trace, segments, suspects = rules.trace, rules.paths.segments, rules.suspects
    work, thread = WorkedFor.by_users(trace, rules.blame.io), trace.tasks.thread
    prepares = np.zeros(int(thread.max(initial=0)) + 1, bool)
    if work is not None:
        prepares[work.worker] = True
    at = chosen[(segments.depth[chosen] == 0) & prepares[thread[segments.utid[chosen]]]]
    if work is None or not len(at):
        nobody, no_time = np.empty(0, np.int32), np.empty(0, np.int64)
        return candidate_rows(no_time, KIND["io_dependency"], nobody, no_time, nobody, nobody, 1.0)
    begin, utid = segments.ts[at], segments.utid[at]
    dur, who = work.time(utid, begin, begin + segments.dur[at], suspects.any)
    party = rules.parties.of_segments(segments, at)
    guilty = np.flatnonzero(suspects.is_suspect(who, party) & (dur > 0))
    guilty = guilty[in_requests_with_enough(segments, at[guilty], dur[guilty])]
    at, dur, edge = at[guilty], dur[guilty], segments.edge[at[guilty]]
    return candidate_rows(at, KIND["io_dependency"], who[guilty], dur, edge, edge, MODEL_CONFIDENCE)
