"""A study: everything one tuning measured and decided, in one DuckDB file.

Each trial is written when it ends, in one transaction, so that a killed tuner loses only the trial
it was in the middle of. The tables are in ``tuner/sql``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from rcp.analyzer.db.store import Store, StoreError, open_other
from rcp.analyzer.latencies.slo import parse
from rcp.tuner.errors import NotAStudyError, TuneError
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.search.observation import Observation
from rcp.tuner.studies import file_lock
from rcp.tuner.trials.measurement import Measurement
from rcp.tuner.trials.raw import knob_from

STUDY_VERSION = 1
"""Raised when a table or column changes its meaning or goes away."""

_TABLES = (
    "meta",
    "knob",
    "trial",
    "trial_slo",
    "trial_quantile",
    "cause",
    "knob_write",
    "verdict",
)
# Those whose first column is the number of a trial.
_OF_TRIALS = ("trial", "trial_slo", "trial_quantile", "cause", "knob_write")


class Cause(NamedTuple):
    """What held up the requests of a recorded trial: one inversion pattern."""

    kind: str
    culprit: str
    chain: str
    slow_share: float
    """Share of the time of the slowest 1 % of requests."""


class Write(NamedTuple):
    """One value that a trial set."""

    trial_id: int
    position: int
    target: str
    value: str


class Row(NamedTuple):
    """A trial as it is in the store; *ratios* by SLO: measured over allowed."""

    trial_id: int
    phase: str
    asked: dict[str, Any]
    settings: dict[str, Any]
    why: str
    seed: int
    wall_s: float
    objective: float | None
    failed: str
    recording: str | None
    ratios: dict[str, float]

    @property
    def observation(self) -> Observation:
        """What a search is told of it."""
        return Observation(self.objective or 0.0, self.ratios, self.failed)


_TRIALS = """
    SELECT t.trial_id, phase, asked, settings, why, seed, wall_s, objective, failed, recording,
        to_json(map_from_entries(list((slo, value_ns / bound_ns)) FILTER (slo IS NOT NULL)))
    FROM trial t LEFT JOIN trial_slo s ON s.trial_id = t.trial_id
    GROUP BY ALL ORDER BY t.trial_id
"""


def _schema() -> list[str]:
    folder = files("rcp.tuner").joinpath("sql")
    return [folder.joinpath(f"{name}.sql").read_text() for name in _TABLES]


class Study:
    """An open study."""

    def __init__(self, store: Store, path: Path, lock: int | None = None) -> None:
        """Wrap an open store, with the lock of who writes it; use ``create`` or ``open``."""
        self._store, self._path, self._lock = store, path, lock

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, str], knobs: Sequence[Knob]) -> Study:
        """Make a new study at *path* with the facts of the machine and of what was asked."""
        if path.exists():
            raise TuneError(
                f"{path} already exists: go on with it by --resume, or name another with --study"
            )
        try:
            store = Store.create(path, schema=_schema())
            study = cls(store, path, file_lock.lock(path))
            for key, value in {**facts, "study_version": str(STUDY_VERSION)}.items():
                study._store.write("INSERT INTO meta VALUES (?, ?)", [key, value])
            for knob in knobs:
                study._add_knob(knob)
        except StoreError as error:
            raise TuneError(str(error)) from error
        return study

    @classmethod
    def open(cls, path: Path, *, read_only: bool, patience_s: float | None = None) -> Study:
        """Open an existing study; raises TuneError when it is none, or of a newer rcp.

        One that is only read waits for *patience_s* (held.PATIENCE_S) until nobody writes it.
        """
        if not path.exists():
            raise TuneError(f"{path} does not exist: `rcp-tune --slo …` makes a study")
        not_ours = f"{path} is not a study of rcp-tune: name the file that --study wrote"
        lock = None if read_only else file_lock.lock(path)
        try:
            if read_only:
                store = file_lock.opened_to_read(path, not_ours, patience_s)
            else:
                store = open_other(path, not_ours, read_only=False)
        except StoreError as error:
            if lock is not None:
                os.close(lock)
            text = str(error).rstrip(".")
            raise (NotAStudyError if text == not_ours else TuneError)(text) from error
        study = cls(store, path, lock)
        if set(_TABLES) - set(study._store.tables()):
            study.close()
            raise NotAStudyError(not_ours)
        version = int(study.facts()["study_version"])
        if version != STUDY_VERSION:
            study.close()
            raise TuneError(
                f"{path} has study version {version}, this rcp-tune writes {STUDY_VERSION}: "
                "use the rcp that made it, or begin a new study"
            )
        return study

    def __enter__(self) -> Study:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._store.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @contextmanager
    def let_read(self, say: Callable[[str], None]) -> Iterator[None]:
        """Let others read the file while this study is not used; it is closed if that fails.

        *say* is told when somebody keeps it from being opened again.
        """
        self._store.close()
        yield
        self._store = file_lock.opened_again(self._path, say)

    def _add_knob(self, knob: Knob) -> None:
        definition = json.dumps(asdict(knob), default=list)
        row = [knob.name, knob.what, knob.unit, knob.backend, definition]
        self._store.write(
            "INSERT INTO knob (name, what, unit, backend, definition) VALUES (?, ?, ?, ?, ?)", row
        )

    def facts(self) -> dict[str, str]:
        """Return what is known of the study and its machine."""
        return {str(key): str(value) for key, value in self._store.query("FROM meta ORDER BY key")}

    def bounds_ns(self) -> dict[str, int]:
        """Return what each SLO allows, by its text, in ns."""
        return {slo.text: slo.bound_ns for slo in parse(self.facts()["slo"])}

    def set_initial(self, values: Settings) -> None:
        """Note what the knobs were set to before anything was tried."""
        for name, value in values.items():
            row = [json.dumps(value), name]
            self._store.write("UPDATE knob SET initial = ? WHERE name = ?", row)

    def initial(self) -> dict[str, Value]:
        """Return the values before the study by knob; those that did not exist are left out."""
        found = self._store.query("SELECT name, initial FROM knob WHERE initial IS NOT NULL")
        return {str(name): json.loads(value) for name, value in found}

    def knobs(self) -> tuple[Knob, ...]:
        """Return the knobs as they were defined when the study began."""
        found = self._store.query("SELECT definition FROM knob ORDER BY rowid")
        return tuple(knob_from(json.loads(text)) for (text,) in found)

    def add(
        self,
        phase: str,
        why: str,
        seed: int,
        measurement: Measurement,
        causes: Sequence[Cause] = (),
    ) -> int:
        """Write a trial with all that belongs to it; return its number."""
        ((last,),) = self._store.query("SELECT coalesce(max(trial_id), 0) FROM trial")
        number = int(last) + 1
        self._store.write("BEGIN")
        self._store.write(
            "INSERT INTO trial VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                number,
                phase,
                json.dumps(dict(measurement.asked)),
                json.dumps(dict(measurement.settings)),
                why,
                seed,
                datetime.now(UTC),
                measurement.wall_s,
                measurement.workload_s,
                measurement.objective,
                measurement.failed,
                str(measurement.recording) if measurement.recording else None,
            ],
        )
        self._add_figures(number, measurement)
        for rank, cause in enumerate(causes, 1):
            self._store.write("INSERT INTO cause VALUES (?, ?, ?, ?, ?, ?)", [number, rank, *cause])
        self._store.write("COMMIT")
        return number

    def _add_figures(self, number: int, measurement: Measurement) -> None:
        for slo in measurement.slos:
            self._store.write("INSERT INTO trial_slo VALUES (?, ?, ?, ?, ?, ?)", [number, *slo])
        for quantile in measurement.quantiles:
            self._store.write("INSERT INTO trial_quantile VALUES (?, ?, ?, ?)", [number, *quantile])
        for position, (target, value) in enumerate(measurement.settings.items()):
            row = [number, position, target, str(value)]
            self._store.write("INSERT INTO knob_write VALUES (?, ?, ?, ?)", row)

    def take_trials(self, other: Study) -> None:
        """Add all trials of *other* behind those there are, with all that belongs to them."""
        ((last,),) = self._store.query("SELECT coalesce(max(trial_id), 0) FROM trial")
        self._store.write("BEGIN")
        for table in _OF_TRIALS:
            # As text, which the columns turn back: a TIMESTAMPTZ would take one more package.
            found = other._store.query(f"SELECT COLUMNS(*)::VARCHAR FROM {table} ORDER BY rowid")
            for number, *rest in found:
                marks = ", ".join("?" * (len(rest) + 1))
                row = [int(last) + int(number), *rest]
                self._store.write(f"INSERT INTO {table} VALUES ({marks})", row)
        self._store.write("COMMIT")

    def trials(self) -> list[Row]:
        """Return all trials, in order."""
        rows = self._store.query(_TRIALS)
        return [_row(row) for row in rows]

    def causes(self) -> list[tuple[int, Cause]]:
        """Return the causes of every recorded trial with its number, the worst first."""
        rows = self._store.query(
            "SELECT trial_id, kind, culprit, chain, slow_share FROM cause ORDER BY trial_id, rank"
        )
        return [(int(row[0]), Cause(*row[1:])) for row in rows]

    def writes(self) -> list[Write]:
        """Return what trials set, in order."""
        return self._store.rows(Write, "FROM knob_write ORDER BY trial_id, position")

    def decide(self, key: str, value: object) -> None:
        """Write one part of the verdict, in place of an earlier one."""
        self._store.write("INSERT OR REPLACE INTO verdict VALUES (?, ?)", [key, json.dumps(value)])

    def verdict(self) -> dict[str, Any]:
        """Return the parts of the verdict written so far."""
        return {str(key): json.loads(value) for key, value in self._store.query("FROM verdict")}


def _row(found: tuple[Any, ...]) -> Row:
    number, phase, asked, settings, *middle, ratios = found
    told = [json.loads(text) for text in (asked, settings)]
    return Row._make([number, phase, *told, *middle, json.loads(ratios or "{}")])
