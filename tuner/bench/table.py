"""A table of real trials, on which a search can be replayed many times over.

A search asks for settings that were never measured. The replay takes the nearest measured ones and
tells the search so; what it learns is true of those. Where settings were measured several times, a
trial draws one of the runs and a confirmation draws from the others: that is the only noise.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.search.space import Key, Space

Row = Mapping[str, float]
"""The figures of one trial by name; empty for a failed one."""


@dataclass(frozen=True)
class Goal:
    """The figure that must be at most *bound*, and the figure to maximize."""

    slo: str
    figure: str
    bound: float
    objective: str

    def observed(self, row: Row) -> Observation:
        """Return a row as a search sees it."""
        if not row:
            return Observation(0.0, failed="the kernel refused the settings")
        return Observation(row[self.objective], {self.slo: row[self.figure] / self.bound})


class Table:
    """Measured settings, each with its rows in the order of their seeds."""

    def __init__(self, knobs: Iterable[Knob], rows: Iterable[tuple[Settings, Row]]) -> None:
        """Store the measured *rows*; settings may occur several times."""
        self.space = Space(tuple(knobs))
        self._rows: dict[Key, list[Row]] = {}
        for settings, row in rows:
            self._rows.setdefault(self.space.key(settings), []).append(row)
        self._keys = list(self._rows)
        self._numbers = np.array([self.space.numbers(dict(key)) for key in self._keys])
        self._words = [self._chosen(dict(key)) for key in self._keys]

    def __len__(self) -> int:
        """The number of different settings."""
        return len(self._keys)

    def rows(self, settings: Settings) -> list[Row]:
        """Return all rows of settings that were measured."""
        return self._rows[self.space.key(settings)]

    def settings(self) -> list[dict[str, Value]]:
        """Return all settings that were measured."""
        return [dict(key) for key in self._keys]

    def _chosen(self, settings: Settings) -> tuple[Value | None, ...]:
        return tuple(settings.get(knob.name) for knob in self.space.knobs if knob.scale == "choice")

    def nearest(self, settings: Settings, without: set[Key]) -> dict[str, Value]:
        """Return the measured settings nearest to *settings*, of those not in *without*.

        They have the same words (scheduler, class) if any such settings are left.
        """
        left = [place for place, key in enumerate(self._keys) if key not in without]
        words = self._chosen(self.space.present(settings))
        alike = [place for place in left if self._words[place] == words]
        places = np.array(alike or left or range(len(self._keys)))
        target = self.space.numbers(self.space.present(settings))
        distance = np.square(self._numbers[places] - target).sum(axis=1)
        return dict(self._keys[int(places[int(np.argmin(distance))])])


def _value(knob: Knob, text: str) -> Value:
    words = {str(word): word for word in knob.choices}
    return words[text] if text in words else int(text)


def _knob(fields: dict[str, Any]) -> Knob:
    needs = {name: tuple(values) for name, values in fields.pop("needs").items()}
    for name in ("choices", "helps"):
        fields[name] = tuple(fields[name])
    return Knob(**fields, needs=needs)


def load(folder: Path) -> Table:
    """Read knobs.json and trials.csv of *folder*."""
    knobs = [_knob(fields) for fields in json.loads((folder / "knobs.json").read_text())]
    by_name = {knob.name: knob for knob in knobs}
    rows: list[tuple[Settings, Row]] = []
    with (folder / "trials.csv").open(newline="") as file:
        for line in csv.DictReader(file):
            settings = {
                name: _value(knob, line[name]) for name, knob in by_name.items() if line[name]
            }
            figures = {
                name: float(text)
                for name, text in line.items()
                if name not in by_name and name not in ("seed", "failed") and text
            }
            rows.append((settings, {} if line["failed"] else figures))
    return Table(knobs, rows)
