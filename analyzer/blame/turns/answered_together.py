"""Requests of rounds: what a server has done for them and for the background at once."""

from __future__ import annotations

import numpy as np

from rcp.analyzer.arrays.as_of import asof_backward
from rcp.analyzer.blame.candidates import (
    KIND,
    Candidates,
    Positions,
    candidate_rows,
    no_candidates,
)
from rcp.analyzer.blame.contention import Contention
from rcp.analyzer.blame.device.evidence import GUESS_CONFIDENCE
from rcp.analyzer.blame.suspects import first_on_chain
from rcp.analyzer.paths.segments import Edges


def answered_together(rules: Contention, chosen: Positions) -> Candidates:
    """Return the ``chosen`` segments below waits for answers of rounds, as far as these go."""
    edges, segments = rules.paths.edges, rules.paths.segments
    answer = round_of_wait(rules, edges)
    first = first_on_chain(edges, answer >= 0)
    chosen = chosen[segments.edge[chosen] >= 0]
    edge = first[segments.edge[chosen]]
    chosen, edge = chosen[edge >= 0], edge[edge >= 0]
    if rules.asked.servers is None or not len(edge):
        return no_candidates()
    rounds, at = rules.asked.servers.rounds, answer[edge]
    end = segments.ts[chosen] + segments.dur[chosen]
    dur = end - np.maximum(segments.ts[chosen], rounds.begin[at])
    culprit = rounds.culprit[at]
    is_suspect = rules.suspects.is_suspect(culprit, rules.parties.of_edge[edge])
    some = np.flatnonzero(is_suspect & (dur > 0))
    leaf = segments.edge[chosen[some]]
    return candidate_rows(
        chosen[some],
        KIND["condition"],
        culprit[some],
        dur[some],
        edge[some],
        leaf,
        GUESS_CONFIDENCE,
        part=rounds.part[at[some]],
    )


def round_of_wait(rules: Contention, edges: Edges) -> Positions:
    """Return the answer of a round that has ended each edge's wait, or -1."""
    found = np.full(len(edges), -1)
    servers, wait = rules.asked.servers, rules.asked.waits
    if servers is None or not len(servers.rounds.answer):
        return found
    rounds, server = servers.rounds, servers.thread[edges.waker[wait]]
    end = edges.ts[wait] + edges.dur[wait]
    at = asof_backward(rounds.server, rounds.end, server, end)
    found[wait] = np.where((at >= 0) & (np.append(rounds.end, -1)[at] == end), at, -1)
    return found
