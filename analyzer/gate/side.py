"""The runs of one side: latencies, the machine they were measured on, losses, and causes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from rcp.analyzer.db.meta import facts
from rcp.analyzer.db.queries import query
from rcp.analyzer.db.store import Store, StoreError
from rcp.analyzer.gate import causes, host
from rcp.analyzer.gate.correction import corrected
from rcp.analyzer.gate.fleet_runs import HostRun, fleet_runs, is_fleet
from rcp.analyzer.gate.saved import SavedRun, is_saved, load
from rcp.analyzer.latencies import recording
from rcp.analyzer.latencies.files import AUTO, open_latencies
from rcp.analyzer.latencies.formats import BY_NAME
from rcp.analyzer.latencies.latency import Latencies, LatencyError, UnitMissingError
from rcp.analyzer.loading.opening import open_recording
from rcp.analyzer.reports.doubts import incomplete, incomplete_warning, missing_share
from rcp.probes.contract.durations import UNITS_NS

_HEAD_BYTES = 4096

_NEEDS_RECORDINGS = "--without-others compares recordings, which know who held up each request"


def _unknown(asked: Sequence[causes.Around]) -> list[causes.Window | None]:
    """Stand for the windows of a run that was not recorded."""
    return [None] * len(asked)


@dataclass(frozen=True)
class Run:
    """One run of the software under test. Requests within a run are dependent, runs are not."""

    name: str
    latencies: Latencies
    host: host.Facts
    lost_ppm: float = 0.0
    """Requests lost by the recorder, per million; or missing records, if these are more."""
    causes: causes.Windows = _unknown
    machine: Mapping[str, float] = field(default_factory=dict)
    """What the machine was like during the run, whatever ran (``machine.py``)."""
    incomplete: str = ""
    """What the recording no longer has, as a sentence; "" if it is whole."""


@dataclass(frozen=True)
class Reading:
    """How to read files."""

    format: str = AUTO
    unit: str | None = None
    here: bool = False
    """Whether files that do not name their machine were measured on this one."""
    interval_ns: int = 0
    """Interval between requests of a closed loop, for the correction; 0: no correction."""
    without_others: bool = False
    """Whether to take from requests the time for which tasks of no role held them up."""


def read_side(paths: Sequence[str], how: Reading) -> list[Run]:
    """Return the runs of a side: one per path, several per baseline or fleet."""
    found: list[Run] = []
    for path in paths:
        if is_fleet(path):
            if how.without_others:
                raise LatencyError(f"{path} is a fleet: {_NEEDS_RECORDINGS}.")
            found += [_of_host(run) for run in fleet_runs(path)]
        elif is_saved(Path(path)):
            if how.without_others:
                raise LatencyError(f"{path} is a save: {_NEEDS_RECORDINGS}.")
            runs, warning = load(Path(path))
            found += [_of_saved(run, warning) for run in runs]
        else:
            found.append(read_run(path, how))
    if how.interval_ns:
        found = [replace(run, latencies=corrected(run.latencies, how.interval_ns)) for run in found]
    return found


def _of_host(run: HostRun) -> Run:
    return Run(
        run.latencies.source,
        run.latencies,
        run.facts,
        run.lost_ppm,
        run.causes,
        incomplete=run.incomplete,
    )


def _of_saved(run: SavedRun, warning: str) -> Run:
    def windows(asked: Sequence[causes.Around]) -> list[causes.Window | None]:
        return [run.windows.get(one) for one in asked]

    latencies = run.latencies
    if warning:
        latencies = replace(latencies, warnings=(*latencies.warnings, warning))
    return Run(
        latencies.source,
        latencies,
        run.host,
        run.lost_ppm,
        windows,
        incomplete=run.incomplete,
    )


def read_run(path: str, how: Reading) -> Run:
    """Return one run; raise LatencyError."""
    if _is_recording(Path(path)):
        try:
            with open_recording(Path(path)) as store:
                return _of_store(store, Path(path), how)
        except StoreError as error:
            raise LatencyError(str(error)) from error
    if how.without_others:
        raise LatencyError(f"{path} is no recording: {_NEEDS_RECORDINGS}.")
    latencies = _open(path, how)
    where = host.of_lab(Path(path).parent) or (host.here() if how.here else {})
    return Run(path, latencies, where)


def _open(path: str, how: Reading) -> Latencies:
    """Return the latencies of a file; errors name the gate's options."""
    try:
        return open_latencies(path, how.format, how.unit)
    except UnitMissingError as error:
        raise LatencyError(error.asking("--unit ms (or ns, us, s)")) from error
    except LatencyError as error:
        head, colon, rest = path.partition(":")
        if head not in BY_NAME or not colon or Path(path).exists():
            raise
        unit, colon, file = rest.partition(":")
        words = f"{file} --input-format {head} --unit {unit}"
        if not colon or unit not in UNITS_NS:
            words = f"{rest} --input-format {head}"
        raise LatencyError(f"{path} is how rcp-tune names a format: here write {words}.") from error


def _is_recording(path: Path) -> bool:
    if not path.exists():
        return False
    head = b""
    if path.is_file():
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    return recording.is_recording(path, head)


def _of_store(store: Store, path: Path, how: Reading) -> Run:
    ((lost, written),) = store.query(query("latencies/lost"))

    def windows(asked: Sequence[causes.Around]) -> list[causes.Window | None]:
        with open_recording(path) as again:
            return [causes.window(again, one) for one in asked]

    latencies = recording.of_store(store, path, without_others=how.without_others)
    meta = facts(store)
    missing, lacking = missing_share(meta), incomplete(meta)
    if lacking and not missing:  # all that was written is there: it is told, and judged
        told = incomplete_warning(str(path), lacking)
        latencies = replace(latencies, warnings=(*latencies.warnings, told))
    ppm = 1e6 * max(lost / max(lost + written, 1), missing)
    where = host.of_recording(meta)
    return Run(str(path), latencies, where, ppm, windows, incomplete=lacking)
