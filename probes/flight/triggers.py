"""Triggers that make a flight recorder write its window: ``--when 'fsync>20ms'``."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rcp.probes.contract.durations import DurationError, duration_text, parse_duration_ns
from rcp.probes.contract.user_error import UserError

ANY = "request"
"""The name that matches every request."""

_FORM = re.compile(r"\s*([^<>=\s]*)\s*>\s*([^<>=]*)")


class TriggerError(UserError):
    """A trigger is malformed or can never fire; the message gives the remedy."""


@dataclass(frozen=True)
class Trigger:
    """Fires when a request named ``name`` takes longer than ``bound_ns``, finished or not."""

    name: str
    """A request's name, or ``request`` for all."""
    bound_ns: int

    def __str__(self) -> str:
        """Return it as typed."""
        return f"{self.name}>{duration_text(self.bound_ns)}"


@dataclass(frozen=True)
class Fired:
    """A request that made a trigger fire."""

    trigger: str
    request: str
    tid: int
    ts: int
    dur_ns: int
    is_finished: bool = True
    """Otherwise ``dur_ns`` is the time it has taken so far."""

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for ``meta``."""
        return vars(self).copy()


def parse_trigger(text: str, names: Collection[str]) -> Trigger:
    """Parse ``NAME>DURATION``; ``names`` are the requests recorded. Raises TriggerError."""
    match = _FORM.fullmatch(text)
    if match is None or not match[1]:
        raise TriggerError(f"--when {text!r}: write NAME>DURATION, as in 'request>50ms'.")
    name = match[1]
    try:
        bound_ns = parse_duration_ns(match[2])
    except DurationError as error:
        raise TriggerError(f"--when {text!r}: {error}.") from error
    if name != ANY and name not in names:
        known = ", ".join(sorted(names))
        raise TriggerError(
            f"--when {text!r}: {name} is not recorded: choose from {ANY}, {known}, or record it "
            "with --request."
        )
    return Trigger(name, bound_ns)


class Watch:
    """Checks requests against triggers; a request fires at most once, under way or finished."""

    def __init__(self, triggers: Sequence[Trigger], names: Mapping[int, str]) -> None:
        """``names`` are request names by ``request.nr``."""
        self._names = dict(names)
        self._told: set[tuple[int, int]] = set()
        """Thread and start of the requests that fired while they were under way."""
        self._rules = [
            (
                trigger,
                None
                if trigger.name == ANY
                else np.array([nr for nr, n in names.items() if n == trigger.name], np.uint32),
            )
            for trigger in triggers
        ]

    @property
    def is_idle(self) -> bool:
        """Whether there is no trigger."""
        return not self._rules

    def fired(self, rows: npt.NDArray[np.void]) -> Fired | None:
        """Return the slowest request of ``rows`` (finished ones) beyond a bound, if any."""
        # int64: an unfinished request (end_ns 0) becomes negative, and never fires
        dur_ns = rows["end_ns"].astype(np.int64) - rows["ts"].astype(np.int64)
        worst = self._worst(rows, dur_ns, is_finished=True)
        self._told.difference_update(_keys(rows))
        return worst

    def hanging(self, rows: npt.NDArray[np.void], now_ns: int) -> Fired | None:
        """Return the oldest request of ``rows`` (all that are under way) beyond a bound, if any."""
        dur_ns = now_ns - rows["ts"].astype(np.int64)
        self._told.intersection_update(_keys(rows))
        worst = self._worst(rows, dur_ns, is_finished=False)
        if worst is not None:
            # The dump has all that are late by now, not only the oldest.
            for trigger, numbers in self._rules:
                late = rows[_beyond(rows, dur_ns, trigger, numbers)]
                self._told.update(_keys(late))
        return worst

    def _worst(
        self, rows: npt.NDArray[np.void], dur_ns: npt.NDArray[np.int64], is_finished: bool
    ) -> Fired | None:
        worst: Fired | None = None
        for trigger, numbers in self._rules:
            beyond = _beyond(rows, dur_ns, trigger, numbers)
            for at in np.flatnonzero(beyond)[np.argsort(-dur_ns[beyond], kind="stable")]:
                row = rows[at]
                if (int(row["tid"]), int(row["ts"])) in self._told:
                    continue
                if worst is None or dur_ns[at] > worst.dur_ns:
                    name = self._names.get(int(row["nr"]), str(int(row["nr"])))
                    since, dur = int(row["ts"]), int(dur_ns[at])
                    worst = Fired(str(trigger), name, int(row["tid"]), since, dur, is_finished)
                break
        return worst


def _keys(rows: npt.NDArray[np.void]) -> list[tuple[int, int]]:
    return list(zip(rows["tid"].tolist(), rows["ts"].tolist(), strict=True))


def _beyond(
    rows: npt.NDArray[np.void],
    dur_ns: npt.NDArray[np.int64],
    trigger: Trigger,
    numbers: npt.NDArray[np.uint32] | None,
) -> npt.NDArray[np.bool_]:
    beyond = dur_ns > trigger.bound_ns
    return beyond if numbers is None else beyond & np.isin(rows["nr"], numbers)
