"""The trials of a study that can be compared: recording takes time itself."""

from __future__ import annotations

from collections.abc import Sequence

from rcp.tuner.studies.records import TrialRow


def comparable(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the recorded trials if the search's were recorded, else those without recording.

    Before the first trial of the search, all trials.
    """
    recorded = {bool(row.recording) for row in rows if row.phase == "search"}
    return [row for row in rows if not recorded or bool(row.recording) in recorded]


def baselines(rows: Sequence[TrialRow]) -> list[TrialRow]:
    """Return the baselines among the comparable trials."""
    return [row for row in comparable(rows) if row.phase == "baseline"]


def usual(rows: Sequence[TrialRow]) -> TrialRow | None:
    """Return the baseline to compare a study's figures with; None before the first one."""
    of_any_kind = (row for row in rows if row.phase == "baseline")
    return next(iter((*baselines(rows), *of_any_kind)), None)
