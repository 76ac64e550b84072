"""Trials as rows of a table, for `show` and for the progress of a run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rcp.analyzer.text import aligned
from rcp.probes.contract.printing.spelled import spelled
from rcp.tuner.knobs.knob import Settings
from rcp.tuner.studies.records import TrialRow
from rcp.tuner.studies.wording import changed, objective_text, settings_text, slo_text


def best_of(rows: Sequence[TrialRow]) -> TrialRow | None:
    """Return the trial with the best objective among those that met every SLO."""
    met = (row for row in rows if row.observation.feasible)
    return max(met, key=lambda row: row.observation.objective, default=None)


class Listing:
    """Formats trials: number, phase, each SLO, objective, settings."""

    def __init__(self, bounds_ns: Mapping[str, int], objective: str, initial: Settings) -> None:
        """*bounds_ns* by the SLO's text; *initial* are the values before the study."""
        self._bounds_ns, self._objective, self._initial = bounds_ns, objective, initial

    @property
    def head(self) -> list[str]:
        """The names of the columns."""
        return ["trial", "phase", *self._bounds_ns, self._objective, "set"]

    def cells(self, row: TrialRow, *, most: int | None = None) -> list[str]:
        """Return the cells of a trial; at most *most* of its knobs."""
        slos = [
            slo_text(row.ratios[slo], bound_ns) if slo in row.ratios else "–"
            for slo, bound_ns in self._bounds_ns.items()
        ]
        knobs = settings_text(changed(row.settings, self._initial), most=most)
        knobs_text = f"failed: {row.failed}; {knobs}" if row.failed else knobs
        objective = objective_text(self._objective, row.objective)
        return [str(row.trial_id), row.phase, *slos, objective, knobs_text]

    def sentence(self, row: TrialRow, *, most: int | None = None) -> str:
        """Return a trial as one line of text; at most *most* of its knobs."""
        number, phase, *figures, knobs = self.cells(row, most=most)
        named = [f"{name} {cell}" for name, cell in zip(self.head[2:-1], figures, strict=True)]
        parts = [knobs] if row.failed else [*named, knobs]
        return f"trial {number}, {phase}: {', '.join(parts)}"

    def lines(self, rows: Sequence[TrialRow]) -> Iterator[str]:
        """Yield the table as lines with aligned columns."""
        table = [self.head, *(self.cells(row) for row in rows)]
        wide = max(len(cells[0]) for cells in table)  # numbers are right-aligned
        yield from aligned(spelled([[number.rjust(wide), *cells] for number, *cells in table]))
