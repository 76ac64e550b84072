"""Waits for answers to questions that were asked before: the server is late for its jobs first.

Of the wait, the rules blame what the server does for the background since it began. What it did
before, since it was asked, makes it late too, up to all that is left of the wait::

    coordinator   asks A and B |~~~~~~~~ for A ~~~~~~~~|~~ for B ~~|
    B                          | the backup's job         | works  |
    alone, B                   | works  |
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.blame.candidates import (
    KIND,
    Candidates,
    candidate_rows,
    no_candidates,
)
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import ANSWER_CONFIDENCE, MODEL_CONFIDENCE
from rcp.analyzer.blame.late.losses import BlamedLosses
from rcp.analyzer.blame.late.rest import Rest
from rcp.analyzer.blame.turns.questions import Questions


def late_since_asked(rules: Contention, found: Candidates) -> Candidates:
    """Return what requests lose for what servers have done since they were asked."""
    late = _late(rules, found, rules.asked_before)
    # Before another answer came the wait is needed anyway (slack).
    found = Candidates.concatenate((found, late))
    return Candidates.concatenate((late, _late(rules, found, rules.answered_meanwhile)))


def _late(rules: Contention, found: Candidates, questions: Questions) -> Candidates:
    """Return what of waits, since they were not needed, is due to jobs since servers were asked."""
    paths, jobs = rules.paths, rules.clients.background_jobs
    edge, asked, since = questions.edge, questions.asked, questions.needed
    if jobs is None or not len(edge):
        return no_candidates()
    edges, thread = paths.edges, rules.trace.tasks.thread.astype(np.int64)
    server, end = thread[edges.waker[edge]], edges.ts[edge] + edges.dur[edge]
    row, job = jobs.within(server, asked, since)
    last = np.r_[np.diff(row) > 0, True][: len(row)]
    row, job = row[last], job[last]
    lost = jobs.covers().within(server[row], asked[row], since[row])
    # What the request has lost meanwhile, it has not lost again.
    losses, request = BlamedLosses.of(found, paths), edges.request[edge[row]].astype(np.int64)
    before = losses.total(request, asked[row], since[row])
    lost = np.maximum(lost - np.rint(before).astype(np.int64), 0)
    rest = Rest.of(paths, found, edge[row], since[row], end[row]).first(lost)
    wait = edge[row[rest.wait]].astype(np.int32)
    result = candidate_rows(
        rest.segment,
        KIND["condition"],
        jobs.client[job[rest.wait]],
        rest.left,
        wait,
        wait,
        ANSWER_CONFIDENCE * MODEL_CONFIDENCE,
    )
    suspect = rules.suspects.is_suspect(result.culprit, rules.parties.of_edge[wait])
    return result.take(np.flatnonzero(suspect))
