"""Save runs to a baseline."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import NamedTuple

from rcp.analyzer.gate import causes, host
from rcp.analyzer.gate.limits import Limit
from rcp.analyzer.gate.saved import SavedRun, folders, save, saves
from rcp.analyzer.gate.side import Run
from rcp.analyzer.gate.sufficiency import RUNS_ADVISED, RUNS_MIN, too_few
from rcp.analyzer.latencies.quantiles import SHARES, TAILS
from rcp.analyzer.latencies.slo import measure
from rcp.analyzer.text import plural

_GATED = Limit("p99", SHARES["p99"], 0.05)
"""What the gate compares if the user does not say."""


def _commit() -> str:
    """Return the commit checked out here, "" outside a repository."""
    try:
        done = subprocess.run(
            ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _windows(run: Run) -> dict[causes.Around, causes.Window]:
    """Return the windows of each kind's quantiles and tails; empty if the run was not recorded."""
    quantiles = [(share, False) for share in sorted(set(SHARES.values()))]
    tails = [(share, True) for share in sorted(set(TAILS.values()))]
    kinds = ("", *run.latencies.kinds)
    asked = [causes.Around(kind, *of) for kind, of in product(kinds, [*quantiles, *tails])]
    found = zip(asked, run.causes(asked), strict=True)
    return {around: window for around, window in found if window is not None}


def shortages(runs: Sequence[Run]) -> list[str]:
    """Say what makes later comparisons with these runs inconclusive; nothing if they suffice."""
    if host.is_exact([[run.host for run in runs]]):
        return []
    found = []
    if len(runs) < RUNS_MIN:
        found.append(
            f"{plural(len(runs), 'run')} saved, {RUNS_MIN} are needed and {RUNS_ADVISED} are "
            "better: every comparison with this save will be inconclusive"
        )
    measured = [measure(_GATED.as_slo(""), run.latencies) for run in runs]
    lack = too_few(_GATED, "save", measured)
    if lack:
        found.append(f"{_GATED.name} cannot be compared with this save: {lack.why}")
    return found


class Pruned(NamedTuple):
    """What became of the older saves of a baseline; all are folders."""

    removed: list[Path]
    unread: list[Path]
    """Left in place, and not among those that are kept: they cannot be read."""


def prune(folder: Path, keep: int) -> Pruned:
    """Remove all but the last *keep* saves that can be read."""
    usable = [one.folder for one in saves(folder)]
    old = [path for path in folders(folder) if len(usable) > keep and path < usable[-keep]]
    for path in old:
        shutil.rmtree(path)
    return Pruned(old, [path for path in folders(folder) if path not in usable])


def save_runs(
    runs: Sequence[Run], folder: Path, label: str = "", keep: int | None = None
) -> tuple[Path, Pruned]:
    """Add a save to a baseline; return its folder and the older ones. Raises LatencyError."""
    saved_runs = [
        SavedRun(run.latencies, run.host, run.lost_ppm, _windows(run), run.incomplete)
        for run in runs
    ]
    when = datetime.now(UTC).isoformat(timespec="seconds")
    target = save(folder, saved_runs, saved=when, label=label or _commit())
    return target, prune(folder, keep) if keep else Pruned([], [])
