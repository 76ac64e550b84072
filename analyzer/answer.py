"""The first line of a report: how many requests were held up, by whom, and how much of their time.

Of requests inside others (a sync in a transaction) only the outermost count: what held up the sync
held up the transaction, which is the one somebody waited for. One inside another of its own kind is
none of these: a thread that answers many sockets has the requests of several clients open at once.
"""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.store import Store


class Answer(NamedTuple):
    """The verdict in numbers; ``sentence`` says it."""

    n_foreground: int
    """Finished foreground requests inside none of another kind."""
    n_held_up: int
    share: float
    """Part of the held-up requests' time, 0 to 1."""
    sentence: str


class _Counts(NamedTuple):
    n: int
    name: str
    n_names: int
    n_held_up: int
    inverted_ns: int
    held_up_dur_ns: int


# A request that never finished has no path, so what is inside it is judged by itself.
_COUNTS = """
    WITH outermost AS (
        SELECT request.request_id, request.name, request.dur
        FROM request
        JOIN task USING (utid)
        LEFT JOIN request AS parent ON parent.request_id = request.parent_request_id
        WHERE task.role = 'foreground' AND request.dur IS NOT NULL
          AND (parent.dur IS NULL OR parent.name = request.name)
    ), held AS (
        SELECT request_id, sum(dur) AS inverted
        FROM inversion
        GROUP BY request_id
    )
    SELECT count(*), coalesce(min(name), ''), count(DISTINCT name), count(inverted),
        coalesce(sum(inverted), 0)::BIGINT,
        coalesce(sum(dur) FILTER (inverted IS NOT NULL), 0)::BIGINT
    FROM outermost
    LEFT JOIN held USING (request_id)
"""


def answer(store: Store, mostly: str, is_background: bool) -> Answer:
    """Return the answer; ``mostly`` names the first pattern and whether it is background work's."""
    (counts,) = store.rows(_Counts, _COUNTS)
    if not counts.n:
        return Answer(0, 0, 0.0, "No foreground request was finished: there is nothing to judge.")
    name = f"{counts.name} " if counts.n_names == 1 else ""
    what = f"foreground {name}requests"
    if not counts.n_held_up:
        sentence = f"No inversion found: none of {counts.n} {what} waited for background work."
        return Answer(counts.n, 0, 0.0, sentence)
    share = counts.inverted_ns / counts.held_up_dur_ns if counts.held_up_dur_ns else 0.0
    whose = "background work" if is_background else "work that no role rule names"
    held_up = counts.n_held_up
    were, these = ("was", "it") if held_up == 1 else ("were", f"these {held_up}")
    return Answer(
        counts.n,
        held_up,
        share,
        f"{held_up} of {counts.n} {what} {were} held up by {whose}, "
        f"for {share * 100:.0f} % of the time {these} took; mostly {mostly}.",
    )
