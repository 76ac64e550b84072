"""Kernel threads on critical paths that do suspects' work.

The journal thread works for the tasks with handles in the transaction it commits. A flusher works
for the tasks that dirtied the pages of the io it queues next.
"""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import asof_forward
from rcp.analyzer.arrays.reasons import IS_EXCLUSIVE
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS, Shares, commit_at
from rcp.analyzer.blame.suspects import MOSTLY, Blame, Suspects
from rcp.analyzer.paths.critical_path import CPU, RUNQUEUE
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import JOURNAL_COMMIT

FLUSHER_CONFIDENCE = 0.5
"""It is a guess that a flusher was working on the io it queued next."""


def _committing(
    trace: Trace, paths: Paths, chosen: Positions, blame: Blame
) -> tuple[Positions, Index, Shares]:
    """Return the segments of journal threads in commits, the suspect of each and its share."""
    journal = np.zeros(len(trace.tasks), bool)
    journal[trace.utids[JOURNAL_COMMIT.name]] = True
    of = chosen[journal[paths.segments.utid[chosen]]]
    commit = commit_at(trace, paths.segments.utid[of], paths.segments.ts[of])
    of, commit = of[commit >= 0], commit[commit >= 0]
    return of, blame.commit.utid[commit], blame.commit.share[commit]


def _flushing(
    trace: Trace, paths: Paths, chosen: Positions, blame: Blame
) -> tuple[Positions, Index, Shares]:
    """Return the segments after which the thread queued an io, its suspect and its share."""
    segments, ios = paths.segments, trace.ios
    following = asof_forward(ios.submitter, ios.queued, segments.utid[chosen], segments.ts[chosen])
    chosen, following = chosen[following >= 0], following[following >= 0]
    end = segments.ts[chosen] + segments.dur[chosen]
    soon = ios.queued[following] < end + SUBMIT_DELAY_NS
    chosen, following = chosen[soon], following[soon]
    share = blame.io.share[following] * np.float32(FLUSHER_CONFIDENCE)
    share[blame.io.share[following] < MOSTLY] = 0
    return chosen, blame.io.utid[following], share


def work_for_suspects(
    trace: Trace, paths: Paths, chosen: Positions, pid: Times, suspects: Suspects, blame: Blame
) -> Candidates:
    """Return the ``chosen`` segments in which a kernel thread mostly did suspects' work."""
    segments, edges = paths.segments, paths.edges
    busy = (segments.kind[chosen] == CPU) | (segments.kind[chosen] == RUNQUEUE)
    chosen = chosen[busy & (segments.utid[chosen] >= 0)]
    chosen = chosen[suspects.kernel[segments.utid[chosen]]]
    log, log_culprit, log_share = _committing(trace, paths, chosen, blame)
    log_share = np.where(log_share < MOSTLY, np.float32(0), log_share)
    rest = np.setdiff1d(chosen, log, assume_unique=True)
    flush, flush_culprit, flush_share = _flushing(trace, paths, rest, blame)
    of = np.concatenate((log, flush))
    culprit = np.concatenate((log_culprit, flush_culprit))
    share = np.concatenate((log_share, flush_share))
    is_suspect = suspects.is_suspect(culprit, pid[segments.request[of]]) & (share > 0)
    of, culprit, share = of[is_suspect], culprit[is_suspect], share[is_suspect]
    edge = segments.edge[of]
    kind = np.where(IS_EXCLUSIVE[edges.reason[edge]], KIND["lock"], KIND["condition"])
    return candidate_rows(of, kind, culprit, segments.dur[of], edge, edge, share)
