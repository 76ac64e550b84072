"""Requests and other activity over time, binned in SQL."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.meta import extent
from rcp.analyzer.db.store import Store
from rcp.ui.queries import query

TIME_STEPS = 96
"""Time steps: at 1280 pixels, cells are then wide enough to click."""

LATENCY_STEPS_PER_DOUBLING = 2


class Axis(NamedTuple):
    """The time steps that all charts of a recording share."""

    begin_ns: int
    step_ns: int
    n_steps: int


class Cell(NamedTuple):
    """Requests that began in one time step and have about the same latency."""

    time_step: int
    latency_step: int
    n: int
    longest_ns: int


class Example(NamedTuple):
    """A request of a cell."""

    request_id: int
    offset_ns: int
    dur_ns: int
    name: str
    comm: str


class Depth(NamedTuple):
    """Mean number of ios in progress in a time step."""

    step: int
    n_waiting: float
    n_at_device: float


class Level(NamedTuple):
    """A value of a time step."""

    step: int
    value: float


class Dirty(NamedTuple):
    """Dirty pages in a time step, and their limit."""

    step: int
    n_pages: float
    limit_pages: float


class Activity(NamedTuple):
    """Activity beside the requests."""

    background: list[Level]
    """Mean number of background requests in progress."""
    commits: list[Level]
    """Share of the time in which a journal committed, 0 to 1."""
    written: list[Level]
    """Bytes written for other than foreground threads."""
    depths: list[Depth]
    dirty: list[Dirty]


def axis(store: Store) -> Axis:
    """Return the time steps of a recording."""
    begin, end = extent(store)
    return Axis(begin, max(-(-(end - begin) // TIME_STEPS), 1), TIME_STEPS)


def heat(store: Store, role: str, kind: str) -> list[Cell]:
    """Return the number of requests by time and latency."""
    at = axis(store)
    parameters = [role, kind, at.begin_ns, at.step_ns, LATENCY_STEPS_PER_DOUBLING]
    return store.rows(Cell, query("overview/heat"), parameters)


def examples(
    store: Store, role: str, kind: str, time_step: int, latency_step: int
) -> list[Example]:
    """Return requests of a cell, the slowest first."""
    at = axis(store)
    steps = [at.begin_ns, at.step_ns, LATENCY_STEPS_PER_DOUBLING, time_step, latency_step]
    return store.rows(Example, query("overview/cell"), [role, kind, *steps])


def activity(store: Store) -> Activity:
    """Return the activity beside the requests; ios queued before the recording do not count."""
    at = axis(store)
    steps = [at.begin_ns, at.step_ns]
    return Activity(
        background=store.rows(Level, query("overview/background"), steps),
        commits=store.rows(Level, query("overview/commits"), steps),
        written=store.rows(Level, query("overview/written"), steps),
        depths=store.rows(Depth, query("overview/depth"), [*steps, at.n_steps]),
        dirty=store.rows(Dirty, query("overview/dirty"), steps),
    )
