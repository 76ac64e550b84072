"""What held up a recorded trial's requests, by the analyzer's own words."""

from __future__ import annotations

from pathlib import Path

from rcp.analyzer.load import load_in_memory
from rcp.analyzer.report import report
from rcp.analyzer.store import Store, StoreError, open_store
from rcp.probes.spool import SpoolError
from rcp.tuner.errors import TuneError
from rcp.tuner.study import Cause

_MOST = 10


def _opened(recording: Path) -> Store:
    return open_store(recording) if recording.is_file() else load_in_memory(recording)


def causes_of(recording: Path) -> list[Cause]:
    """Return the inversion patterns of a recording, the ones that make its tail first."""
    try:
        with _opened(recording) as store:
            patterns = report(store).patterns
    except (StoreError, SpoolError) as error:
        raise TuneError(str(error).rstrip(".")) from error
    found = [
        Cause(pattern.kind, pattern.culprit, pattern.chain, pattern.slow_share or 0.0)
        for pattern in patterns
    ]
    return sorted(found, key=lambda cause: -cause.slow_share)[:_MOST]
