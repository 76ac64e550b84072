"""The first line of a report: how many requests background work delayed, how long, and what most.

Only outermost requests count: what holds up a sync inside a transaction holds up the transaction,
and that is what a client waits for. A request inside another of its own kind does count: a thread
that serves many sockets has requests of several clients open at once.
"""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store
from rcp.probes.contract.percent import percent


class Answer(NamedTuple):
    """The verdict: in numbers, and as a sentence."""

    n_foreground: int
    """Finished foreground requests that are not inside a request of another kind."""
    n_held_up: int
    share: float
    """Share of the held-up requests' time that inversions took, 0 to 1."""
    sentence: str


class _RequestCounts(NamedTuple):
    n: int
    name: str
    n_names: int
    n_held_up: int
    inverted_ns: int
    held_up_dur_ns: int


def answer(store: Store, main_culprit: str, is_background: bool) -> Answer:
    """Return the answer.

    ``main_culprit`` is that of the costliest pattern; ``is_background`` tells whether it is
    background work.
    """
    (counts,) = store.rows(_RequestCounts, query("answer/counts"))
    if not counts.n:
        return Answer(0, 0, 0.0, "No foreground request finished: there is nothing to judge.")
    name = f"{counts.name} " if counts.n_names == 1 else ""
    what = f"foreground {name}requests"
    if not counts.n_held_up:
        sentence = f"No inversion found: none of {counts.n} {what} waited for background work."
        return Answer(counts.n, 0, 0.0, sentence)
    share = counts.inverted_ns / counts.held_up_dur_ns if counts.held_up_dur_ns else 0.0
    who = "Background work" if is_background else "Work that no role rule names"
    held_up = counts.n_held_up
    return Answer(
        counts.n,
        held_up,
        share,
        f"{who} delayed {held_up} of {counts.n} {what}, for {percent(share, 0)} of "
        f"{'its' if held_up == 1 else 'their'} time. Main culprit: {main_culprit}.",
    )
