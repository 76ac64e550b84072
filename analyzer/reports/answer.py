"""The first line of a report: how many requests were held up, by whom, and how much of their time.

Of requests inside others (a sync in a transaction) only the outermost count: what held up the sync
held up the transaction, which is the one somebody waited for. One inside another of its own kind is
none of these: a thread that answers many sockets has the requests of several clients open at once.
"""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store


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


def answer(store: Store, mostly: str, is_background: bool) -> Answer:
    """Return the answer; ``mostly`` names the first pattern and whether it is background work's."""
    (counts,) = store.rows(_Counts, query("answer/counts"))
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
