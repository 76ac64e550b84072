"""The causes of delay in a recorded trial, by the analyzer."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.db.store import StoreError
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.reports.report import Pattern, report
from rcp.tuner.errors import TuneError
from rcp.tuner.studies.records import Cause

_MOST = 10


def causes_of(recording: Path) -> list[Cause]:
    """Return the inversion patterns of a recording, the largest share of the tail first."""
    try:
        with open_recording(recording) as store:
            patterns = report(store).patterns
    except StoreError as error:
        raise TuneError(str(error)) from error
    found = [
        Cause(pattern.kind, _who(pattern), pattern.chain, pattern.slow_share or 0.0)
        for pattern in patterns
    ]
    return sorted(found, key=lambda cause: -cause.slow_share)[:_MOST]


def _who(pattern: Pattern) -> str:
    """Return the culprit with its role: processes of a server may all have the same name."""
    known = pattern.role in ("foreground", "background")
    return f"{pattern.culprit} ({pattern.role})" if known else pattern.culprit
