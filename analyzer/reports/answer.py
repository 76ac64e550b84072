"""The first line of a report: how many requests background work delayed, how long, and what most.

Only outermost requests count: what holds up a sync inside a transaction holds up the transaction,
and that is what a client waits for. A request inside another of its own kind does count: a thread
that serves many sockets has requests of several clients open at once.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from rcp.analyzer.arrays.roles import BACKGROUND
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
    incomplete: str = ""
    """What the recording lacks, as a sentence that comes first; "" if it lacks little."""


class _RequestCounts(NamedTuple):
    n: int
    name: str
    n_names: int
    n_held_up: int
    inverted_ns: int
    held_up_dur_ns: int


class _Culprit(NamedTuple):
    kind: str
    culprit: str
    role: str
    pattern: str

    def text(self) -> str:
        """Return the culprit, its kind and the first helper on its chain, if there is one."""
        helpers = [
            name for name in re.findall(r"\(([^)]+)\)", self.pattern) if name != self.culprit
        ]
        via = f", through {helpers[0].partition('/')[0]}" if helpers else ""
        return f"{self.culprit} ({self.kind}{via})"


def delayed_share(inverted_ns: int, delayed_dur_ns: int) -> float:
    """Return the share of delayed requests' own time that inversions took, 0 to 1.

    The one definition of "for 56 % of their time", on every screen.
    """
    return inverted_ns / delayed_dur_ns if delayed_dur_ns else 0.0


def answer(store: Store) -> Answer:
    """Return the answer; its main culprit is that of the costliest pattern."""
    (counts,) = store.rows(_RequestCounts, query("answer/counts"))
    if not counts.n:
        return Answer(0, 0, 0.0, "No foreground request finished: there is nothing to judge.")
    name = f"{counts.name} " if counts.n_names == 1 else ""
    what = f"foreground {name}request{'' if counts.n == 1 else 's'}"
    if not counts.n_held_up:
        sentence = f"No inversion found: none of {counts.n} {what} waited for background work."
        return Answer(counts.n, 0, 0.0, sentence)
    (culprit,) = store.rows(_Culprit, query("answer/culprit"))
    share = delayed_share(counts.inverted_ns, counts.held_up_dur_ns)
    who = "Background work" if culprit.role == BACKGROUND else "Work that no role rule names"
    held_up = counts.n_held_up
    return Answer(
        counts.n,
        held_up,
        share,
        f"{who} delayed {held_up} of {counts.n} {what}, for {percent(share, 0)} of "
        f"{'its' if held_up == 1 else 'their'} time. Main culprit: {culprit.text()}.",
    )
