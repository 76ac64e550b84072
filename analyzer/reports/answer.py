"""The first line of a report: how many requests were held up, by what, and for how long.

Only outermost requests count: what holds up a sync inside a transaction holds up the transaction,
and that is what a client waits for. A request inside another of its own kind does count: a thread
that serves many sockets has requests of several clients open at once.
"""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.analyzer.text import percent


class Answer(NamedTuple):
    """The verdict: in numbers, and as a sentence."""

    n_foreground: int
    """Finished foreground requests that are not inside a request of another kind."""
    n_held_up: int
    share: float
    """Share of the held-up requests' time that inversions took, 0 to 1."""
    sentence: str


class _Counts(NamedTuple):
    n: int
    name: str
    n_names: int
    n_held_up: int
    inverted_ns: int
    held_up_dur_ns: int


def answer(store: Store, mostly: str, is_background: bool) -> Answer:
    """Return the answer.

    ``mostly`` names the costliest pattern; ``is_background`` tells whether its culprit is
    background work.
    """
    (counts,) = store.rows(_Counts, query("answer/counts"))
    if not counts.n:
        return Answer(0, 0, 0.0, "No foreground request finished: there is nothing to judge.")
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
        f"for {percent(share, 0)} of the time {these} took; mostly {mostly}.",
    )
