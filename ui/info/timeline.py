"""Requests over time, and what else went on: everything binned in SQL."""

from __future__ import annotations

from typing import NamedTuple

from rcp.analyzer.db.store import Store
from rcp.analyzer.export.selection import extent
from rcp.ui.queries import query

TIME_STEPS = 96
"""Steps of time: cells are then wide enough to hit with a mouse at 1280 pixels."""

LATENCY_STEPS_PER_DOUBLING = 2


class Axis(NamedTuple):
    """The steps of time all pictures of a recording share."""

    begin_ns: int
    step_ns: int
    n_steps: int


class Cell(NamedTuple):
    """Requests that began in a step of time and took about as long."""

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
    """Mean number of ios under way in a step of time."""

    step: int
    n_waiting: float
    n_at_device: float


class Level(NamedTuple):
    """A figure of a step of time."""

    step: int
    value: float


class Dirty(NamedTuple):
    """Dirty pages in a step of time, and how many were allowed."""

    step: int
    n_pages: float
    limit_pages: float


class Activity(NamedTuple):
    """What went on beside the requests."""

    background: list[Level]
    """Background requests under way, on average."""
    commits: list[Level]
    """Part of the time in which a journal committed, 0 to 1."""
    written: list[Level]
    """Bytes that others than foreground threads had written."""
    depths: list[Depth]
    dirty: list[Dirty]


def axis(store: Store) -> Axis:
    """Return the steps of time of a recording."""
    begin, end = extent(store)
    return Axis(begin, max(-(-(end - begin) // TIME_STEPS), 1), TIME_STEPS)


def heat(store: Store, role: str, kind: str) -> list[Cell]:
    """Return how many requests there are by time and latency."""
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
    """Return what went on beside the requests; ios queued before the beginning do not count."""
    at = axis(store)
    steps = [at.begin_ns, at.step_ns]
    return Activity(
        background=store.rows(Level, query("overview/background"), steps),
        commits=store.rows(Level, query("overview/commits"), steps),
        written=store.rows(Level, query("overview/written"), steps),
        depths=store.rows(Depth, query("overview/depth"), [*steps, at.n_steps]),
        dirty=store.rows(Dirty, query("overview/dirty"), steps),
    )
