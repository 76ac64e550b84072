"""Answers that the next click needs: asked in the background once a page has been shown.

Choosing other requests changes every answer on the overview, a dozen queries one after another. In
a recording of a million requests they were most of the longest wait for a click. A page that is
asked for comes first: then at most one question in the background goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rcp.analyzer.latencies.slo import Slo
from rcp.ui.info import answer, compare, graph, overview, population, timeline
from rcp.ui.info.population import Kind
from rcp.ui.source import Recording

_POPULATIONS_MAX = 8
"""Choices of requests that are answered ahead: each takes half a second of a million requests."""

_SIDES_MAX = 4
"""The same in a comparison, where each takes twice as long."""

Slos = tuple[Slo, ...]


def others(kinds: Sequence[Kind], role: str, kind: str) -> Iterator[tuple[str, str]]:
    """Yield the other choices of requests, a click away first; "" is any role or kind."""
    roles = ["", *population.roles(kinds)]

    def named(role: str) -> list[str]:
        return ["", *sorted({one.name for one in kinds if role in ("", one.role)})]

    yield from ((one, kind) for one in roles if one != role and kind in named(one))
    yield from ((role, one) for one in named(role) if one != kind)
    yield from ((one, name) for one in roles if one != role for name in named(one) if name != kind)


def _curve(recording: Recording, role: str, kind: str, slos: Slos) -> None:
    overview.ask_curve(recording.ask, role, kind, slos)


def _worst(recording: Recording, role: str, kind: str, slos: Slos) -> None:
    n = recording.ask_inversions(overview.totals, role, kind).n
    recording.ask_inversions(answer.worst, role, kind, answer.judged_share(n, slos))


def _bands(recording: Recording, role: str, kind: str, slos: Slos) -> None:
    ends = recording.ask(population.limits, role, kind)
    recording.ask(overview.band_waits, role, kind, ends)
    recording.ask(population.bands, role, kind, ends)


def _heat(recording: Recording, role: str, kind: str, slos: Slos) -> None:
    recording.ask(timeline.heat, role, kind)


_QUESTIONS: tuple[Callable[[Recording, str, str, Slos], None], ...] = (
    _curve,
    _worst,
    _bands,
    _heat,
)
"""What the overview asks about the requests shown, in its order."""


def ask_others(recording: Recording, role: str, kind: str, slos: Slos) -> None:
    """Ask the same, in the background, about the requests that may be chosen next."""
    if recording.is_running:
        return  # it is opened anew when it has grown
    near = list(others(recording.ask(population.kinds), role, kind))[:_POPULATIONS_MAX]
    recording.later([partial(ask, recording, *one, slos) for one in near for ask in _QUESTIONS])


def _side(recording: Recording, role: str, kind: str) -> None:
    recording.ask_inversions(compare.side, role, kind)
    overview.ask_ccdf(recording.ask, role, kind)


def ask_sides(recordings: Sequence[Recording], role: str, kind: str) -> None:
    """Ask what a comparison shows, in the background, about the requests that may be chosen next.

    Of a million requests each choice takes a second of each recording.
    """
    near = list(others(recordings[0].ask(population.kinds), role, kind))[:_SIDES_MAX]
    for recording in recordings:
        if not recording.is_running:
            recording.later([partial(_side, recording, *one) for one in near])


def ask_graph(recording: Recording, asked: graph.Asked) -> None:
    """Ask for the graph of all of some requests, in the background: the first one takes seconds.

    Not of a recording that is too large to keep the parts: there it would take as long again for a
    question that may never come.
    """

    def ask() -> None:
        if recording.ask_inversions(graph.keep_parts):
            graph.ask_hops(recording.ask_inversions, asked)
            recording.ask_inversions(graph.totals, asked)

    if not recording.is_running:
        recording.later([ask])
