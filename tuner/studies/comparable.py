"""Which trials of a study have figures that can be compared: recording takes time itself."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.tuner.studies.study import Row


def comparable(rows: Sequence[Row]) -> list[Row]:
    """Return those recorded if the search's trials were, or not recorded if they were not.

    All, as long as nothing was searched.
    """
    recorded = {bool(row.recording) for row in rows if row.phase == "search"}
    return [row for row in rows if not recorded or bool(row.recording) in recorded]


def baselines(rows: Sequence[Row]) -> list[Row]:
    """Return the baselines among those."""
    return [row for row in comparable(rows) if row.phase == "baseline"]


def usual(rows: Sequence[Row]) -> Row | None:
    """Return the baseline that a study's figures are held against; None before there is one."""
    of_any_kind = (row for row in rows if row.phase == "baseline")
    return next(iter((*baselines(rows), *of_any_kind)), None)
