"""Kernel threads on critical paths that do suspects' work.

The journal thread, or a worker that writes XFS's log, works for the tasks whose blocks the
transaction has that it commits. A flusher,
and a journal thread that writes ordered data, works for the tasks that dirtied the pages of the io
it queues next. A worker of a stacked device works for the task whose io it is, which is recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.analyzer.arrays.as_of import asof_backward, asof_forward
from rcp.analyzer.arrays.reasons import IS_EXCLUSIVE
from rcp.analyzer.arrays.trace import Index, Times, Trace
from rcp.analyzer.blame.candidates import KIND, Candidates, Positions, candidate_rows
from rcp.analyzer.blame.causes import SUBMIT_DELAY_NS
from rcp.analyzer.blame.device.evidence import FLUSHER_CONFIDENCE
from rcp.analyzer.blame.journal.transactions import commit_at, of_xfs
from rcp.analyzer.blame.origins import all_queued
from rcp.analyzer.blame.owners import Blame
from rcp.analyzer.blame.parties import Parties
from rcp.analyzer.blame.sets import MOSTLY
from rcp.analyzer.blame.suspects import Suspects
from rcp.analyzer.blame.worked_for import WorkedFor
from rcp.analyzer.paths.critical_path import CPU, RUNQUEUE
from rcp.analyzer.paths.segments import Paths
from rcp.probes.contract.events import JOURNAL_COMMIT

_PHASES = ("flushing_ns", "logging_ns")


@dataclass(frozen=True)
class _Work:
    """Segments of kernel threads, with a row for each suspect they worked for."""

    segment: Positions
    culprit: Index
    dur: Times
    part: npt.NDArray[np.floating[Any]]
    """The culprit's part of the time."""
    sure: npt.NDArray[np.floating[Any]]
    """Confidence in it."""

    def take(self, at: Positions) -> _Work:
        return _Work(*(getattr(self, f.name)[at] for f in fields(self)))

    @staticmethod
    def concatenate(parts: Sequence[_Work]) -> _Work:
        return _Work(
            *(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(_Work))
        )


def _in_commits(trace: Trace, paths: Paths, chosen: Positions) -> tuple[Positions, Times, Times]:
    """Return the segments of threads that commit, the commit of each, and the time in it.

    Who is woken to commit begins a bit later, and a worker for XFS does other work afterwards.
    """
    rows, segments = trace.rows[JOURNAL_COMMIT.name], paths.segments
    thread = trace.utids[JOURNAL_COMMIT.name]
    journal = np.zeros(len(trace.tasks), bool)
    journal[thread] = True
    of = chosen[journal[segments.utid[chosen]]]
    utid, since, dur = segments.utid[of], segments.ts[of], segments.dur[of]
    begin, end = rows["ts"].astype(np.int64), rows["end_ns"].astype(np.int64)
    commit = commit_at(trace, utid, since).astype(np.int64)
    last = asof_backward(thread, begin, utid, since + dur - 1)
    late = np.flatnonzero((commit < 0) & (last >= 0))
    late = late[begin[last[late]] > since[late]]
    commit[late] = last[late]
    known = np.flatnonzero(commit >= 0)
    of, commit, since, dur = of[known], commit[known], since[known], dur[known]
    is_xfs = of_xfs(trace)[commit] & (end[commit] > 0)
    upto = np.where(is_xfs, np.minimum(end[commit], since + dur), since + dur)
    return of, commit, upto - np.maximum(begin[commit], since)


def _committing(trace: Trace, paths: Paths, chosen: Positions, blame: Blame) -> _Work:
    """Return the segments of journal threads in commits, their suspects and the share of each.

    Not those in which they write ordered data, which is as a flusher does. While they wait for open
    handles, or for a CPU, it does not matter how many blocks there are.
    """
    rows, segments = trace.rows[JOURNAL_COMMIT.name], paths.segments
    of, commit, dur = _in_commits(trace, paths, chosen)
    flushing, logging = (rows[name][commit].astype(np.int64) for name in _PHASES)
    since, until = segments.ts[of], segments.ts[of] + segments.dur[of]
    is_flushing = (since >= flushing) & (until <= logging) & (flushing > 0)
    part = blame.commit
    needless = part.needless[commit]
    logged = np.where(of_xfs(trace)[commit], dur, until - np.maximum(since, logging))
    dur = np.where(needless, dur, np.clip(logged, 0, dur))
    is_work = (segments.kind[of] == CPU) & (part.cpu[commit] >= MOSTLY)
    share = np.where(is_work, part.cpu[commit], np.float32(0))
    own = ~is_flushing | needless
    of, commit, dur = of[own], commit[own], dur[own]
    share = np.where(needless, np.float32(1), share)[own]
    row, owner, of_owner = blame.members.split(blame.set_of_commit[commit], part.owner[commit])
    sure = np.where(part.needless[commit], 1.0, part.weight[commit])
    return _Work(of[row], owner, dur[row], share[row] * of_owner, sure[row])


def _flushing(trace: Trace, paths: Paths, chosen: Positions, blame: Blame) -> _Work:
    """Return the segments after which the thread queued an io, its suspect and its share."""
    segments = paths.segments
    all_ios = all_queued(trace)
    found = asof_forward(all_ios.queuer, all_ios.queued, segments.utid[chosen], segments.ts[chosen])
    chosen, found = chosen[found >= 0], found[found >= 0]
    end = segments.ts[chosen] + segments.dur[chosen]
    soon = all_ios.queued[found] < end + SUBMIT_DELAY_NS
    chosen, following = chosen[soon], all_ios.io[found[soon]]
    row, owner, part = blame.members.split(blame.set_of_io[following], blame.io.utid[following])
    of_all = blame.io.share[following[row]]
    part *= np.where(of_all >= MOSTLY, of_all, 0)
    sure = np.full(len(row), FLUSHER_CONFIDENCE)
    return _Work(chosen[row], owner, segments.dur[chosen[row]], part, sure)


def _serving(trace: Trace, paths: Paths, chosen: Positions, suspects: Suspects) -> _Work:
    """Return the segments of stacked devices' workers, the last suspect of each and its time."""
    worked, segments = WorkedFor.of(trace), paths.segments
    if worked is None:
        nothing = np.zeros(0)
        return _Work(chosen[:0], segments.utid[:0], segments.dur[:0], nothing, nothing)
    utid, lo, dur = segments.utid[chosen], segments.ts[chosen], segments.dur[chosen]
    everyone = np.ones_like(suspects.any)
    of_any, _ = worked.time(utid, lo, lo + dur, everyone)
    known, background = worked.time(utid, lo, lo + dur, suspects.background)
    unknown, other = worked.time(utid, lo, lo + dur, suspects.unknown)
    owner = np.where(known > 0, background, other).astype(np.int32)
    of = np.flatnonzero(of_any > 0)
    dur = np.where(known > 0, known, unknown)[of]
    all_of_it = np.ones(len(of))
    return _Work(chosen[of], owner[of], dur, all_of_it, all_of_it)


def _without(chosen: Positions, others: Positions, n: int) -> Positions:
    """Return the positions below ``n`` that are not among ``others``: no search, no sort."""
    others_too = np.zeros(n, bool)
    others_too[others] = True
    return chosen[~others_too[chosen]]


def work_for_suspects(
    trace: Trace,
    paths: Paths,
    chosen: Positions,
    parties: Parties,
    suspects: Suspects,
    blame: Blame,
) -> Candidates:
    """Return the ``chosen`` segments in which a kernel thread mostly did suspects' work."""
    segments, edges = paths.segments, paths.edges
    busy = (segments.kind[chosen] == CPU) | (segments.kind[chosen] == RUNQUEUE)
    chosen = chosen[busy & (segments.utid[chosen] >= 0)]
    chosen = chosen[suspects.kernel[segments.utid[chosen]]]
    log = _committing(trace, paths, chosen, blame)
    rest = _without(chosen, log.segment, len(segments))
    served = _serving(trace, paths, rest, suspects)
    rest = _without(rest, served.segment, len(segments))
    work = _Work.concatenate((log, served, _flushing(trace, paths, rest, blame)))
    party = parties.of_segments(segments, work.segment)
    is_suspect = suspects.is_suspect(work.culprit, party) & (work.part > 0)
    work = work.take(np.flatnonzero(is_suspect & (work.dur > 0)))
    edge = segments.edge[work.segment]
    kind = np.where(IS_EXCLUSIVE[edges.reason[edge]], KIND["lock"], KIND["condition"])
    return candidate_rows(
        work.segment, kind, work.culprit, work.dur, edge, edge, work.sure, part=work.part
    )
