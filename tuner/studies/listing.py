"""Trials as rows of a table: what `show` prints, and what is watched while they are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.study import Row
from rcp.tuner.studies.wording import aligned, changed, objective_text, settings_text, slo_text


def best_of(rows: Sequence[Row]) -> Row | None:
    """Return the trial with most of the objective of those that met every SLO."""
    met = (row for row in rows if row.observation.feasible)
    return max(met, key=lambda row: row.observation.objective, default=None)


class Listing:
    """Makes the cells of trials: number, phase, each SLO, the objective, what was set."""

    def __init__(self, bounds_ns: Mapping[str, int], objective: str, initial: Settings) -> None:
        """Know the SLOs by their text, the objective by its name, and what the knobs were."""
        self._bounds_ns, self._objective, self._initial = bounds_ns, objective, initial

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        return ["trial", "phase", *self._bounds_ns, self._objective, "set"]

    def cells(self, row: Row, *, most: int | None = None) -> list[str]:
        """Return the cells of a trial; *most* of its knobs, and how many more."""
        slos = [
            slo_text(row.ratios[slo], bound_ns) if slo in row.ratios else "–"
            for slo, bound_ns in self._bounds_ns.items()
        ]
        knobs = settings_text(changed(row.settings, self._initial), most=most)
        said = f"failed: {row.failed}; {knobs}" if row.failed else knobs
        objective = objective_text(self._objective, row.objective)
        return [str(row.trial_id), row.phase, *slos, objective, said]

    def lines(self, rows: Sequence[Row]) -> Iterator[str]:
        """Yield the whole as text, a line each, the columns aligned."""
        table = [self.head, *(self.cells(row) for row in rows)]
        wide = max(len(cells[0]) for cells in table)  # numbers stand at the right
        yield from aligned([[number.rjust(wide), *cells] for number, *cells in table])
