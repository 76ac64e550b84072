"""A study: everything that one tuning measured and decided, in one DuckDB file.

Each trial is written when it ends, in one transaction: a killed tuner loses only the trial that
was running. The tables are in ``tuner/sql``.
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
from typing import Any

from rcp.analyzer.db.store import Store, StoreError, open_other
from rcp.analyzer.latencies.slo import parse
from rcp.analyzer.whatif.by_kind import WithoutKinds
from rcp.tuner.errors import NotAStudyError, TuneError
from rcp.tuner.knobs.knob import Knob, Settings, Value
from rcp.tuner.studies import file_lock
from rcp.tuner.studies.records import Cause, KnobWrite, TrialRow
from rcp.tuner.trials.judge import shortage_of
from rcp.tuner.trials.measurement import Measurement, SloValue
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
# Tables whose first column is the number of a trial.
_TRIAL_TABLES = ("trial", "trial_slo", "trial_quantile", "cause", "knob_write")


_TRIALS_SQL = """
    SELECT t.trial_id, phase, asked, settings, why, seed, wall_s, objective, failed, recording,
        to_json(list({slo: slo, value_ns: value_ns, bound_ns: bound_ns, n_requests: n_requests,
            n_beyond: n_beyond} ORDER BY s.rowid) FILTER (slo IS NOT NULL))
    FROM trial t LEFT JOIN trial_slo s ON s.trial_id = t.trial_id
    GROUP BY ALL ORDER BY t.trial_id
"""


def _schema() -> list[str]:
    folder = files("rcp.tuner").joinpath("sql")
    return [folder.joinpath(f"{name}.sql").read_text() for name in _TABLES]


class Study:
    """An open study."""

    def __init__(self, store: Store, path: Path, lock: int | None = None) -> None:
        """Wrap an open store, with the file lock of a writer; use ``create`` or ``open``."""
        self._store, self._path, self._lock = store, path, lock

    @classmethod
    def create(cls, path: Path, facts: Mapping[str, str], knobs: Sequence[Knob]) -> Study:
        """Make a new study at *path* with the facts of the machine and of the task."""
        if path.exists():
            raise TuneError(
                f"{path} already exists: continue it with --resume, or name another with --study"
            )
        try:
            store = Store.create(path, schema=_schema())
            study = cls(store, path, file_lock.lock(path))
            with store.transaction():
                for key, value in {**facts, "study_version": str(STUDY_VERSION)}.items():
                    store.write("INSERT INTO meta VALUES (?, ?)", [key, value])
                for knob in knobs:
                    study._add_knob(knob)
        except StoreError as error:
            raise TuneError(str(error)) from error
        return study

    @classmethod
    def open(cls, path: Path, *, read_only: bool, patience_s: float | None = None) -> Study:
        """Open an existing study; raises TuneError for other files and other study versions.

        With *read_only* it waits up to *patience_s* (file_lock.PATIENCE_S) for a writer.
        """
        if not path.exists():
            raise TuneError(f"{path} does not exist: `rcp-tune --slo …` makes a study")
        not_ours = f"{path} is not a study of rcp-tune: name the file that --study wrote"
        lock = None if read_only else file_lock.lock(path)
        try:
            if read_only:
                store = file_lock.open_for_reading(path, not_ours, patience_s)
            else:
                store = open_other(path, not_ours, read_only=False)
        except StoreError as error:
            if lock is not None:
                os.close(lock)
            text = str(error)
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
                "use the rcp that made it, or start a new study"
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
    def released(self, say: Callable[[str], None]) -> Iterator[None]:
        """Close the file during the block, so that others can read it.

        *say* is called with a text when another program delays the reopening. The study stays
        closed if it fails.
        """
        self._store.close()
        yield
        self._store = file_lock.reopen_for_writing(self._path, say)

    def _add_knob(self, knob: Knob) -> None:
        definition = json.dumps(asdict(knob), default=list)
        row = [knob.name, knob.what, knob.unit, knob.backend, definition]
        self._store.write(
            "INSERT INTO knob (name, what, unit, backend, definition) VALUES (?, ?, ?, ?, ?)", row
        )

    def facts(self) -> dict[str, str]:
        """Return the facts of the study and its machine."""
        return {str(key): str(value) for key, value in self._store.query("FROM meta ORDER BY key")}

    def bounds_ns(self) -> dict[str, int]:
        """Return the bound of each SLO in ns, by its text."""
        return {slo.text: slo.bound_ns for slo in parse(self.facts()["slo"])}

    def set_initial(self, values: Settings) -> None:
        """Write the knobs' values before the first trial."""
        with self._store.transaction():
            for name, value in values.items():
                row = [json.dumps(value), name]
                self._store.write("UPDATE knob SET initial = ? WHERE name = ?", row)

    def initial(self) -> dict[str, Value]:
        """Return the values before the study, of the knobs that existed then."""
        found = self._store.query("SELECT name, initial FROM knob WHERE initial IS NOT NULL")
        return {str(name): json.loads(value) for name, value in found}

    def knobs(self) -> tuple[Knob, ...]:
        """Return the knobs as defined when the study began."""
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
        """Write a trial and its figures in one transaction; return its number."""
        number = self._last_trial() + 1
        with self._store.transaction():
            self._add_trial(number, phase, why, seed, measurement)
            self._add_figures(number, measurement)
            for rank, cause in enumerate(causes, 1):
                row = [number, rank, *cause]
                self._store.write("INSERT INTO cause VALUES (?, ?, ?, ?, ?, ?)", row)
        return number

    def _last_trial(self) -> int:
        ((last,),) = self._store.query("SELECT coalesce(max(trial_id), 0) FROM trial")
        return int(last)

    def _add_trial(
        self, number: int, phase: str, why: str, seed: int, measurement: Measurement
    ) -> None:
        recording = measurement.recording
        row = {
            "trial_id": number,
            "phase": phase,
            "asked": json.dumps(dict(measurement.proposed)),
            "settings": json.dumps(dict(measurement.settings)),
            "why": why,
            "seed": seed,
            "started": datetime.now(UTC),
            "wall_s": measurement.wall_s,
            "workload_s": measurement.workload_s,
            "objective": measurement.objective,
            "failed": measurement.failed,
            "recording": str(recording) if recording else None,
        }
        columns, marks = ", ".join(row), ", ".join("?" * len(row))
        self._store.write(f"INSERT INTO trial ({columns}) VALUES ({marks})", list(row.values()))

    def _add_figures(self, number: int, measurement: Measurement) -> None:
        for slo in measurement.slos:
            self._store.write("INSERT INTO trial_slo VALUES (?, ?, ?, ?, ?, ?)", [number, *slo])
        for quantile in measurement.quantiles:
            self._store.write("INSERT INTO trial_quantile VALUES (?, ?, ?, ?)", [number, *quantile])
        for position, (target, value) in enumerate(measurement.settings.items()):
            row = [number, position, target, str(value)]
            self._store.write("INSERT INTO knob_write VALUES (?, ?, ?, ?)", row)

    def take_trials(self, other: Study) -> None:
        """Append all trials of *other* with their figures, in one transaction."""
        last = self._last_trial()
        with self._store.transaction():
            for table in _TRIAL_TABLES:
                # As text, which the columns parse: a TIMESTAMPTZ would need one more package.
                sql = f"SELECT COLUMNS(*)::VARCHAR FROM {table} ORDER BY rowid"
                for number, *rest in other._store.query(sql):
                    marks = ", ".join("?" * (len(rest) + 1))
                    row = [last + int(number), *rest]
                    self._store.write(f"INSERT INTO {table} VALUES ({marks})", row)

    def trials(self) -> list[TrialRow]:
        """Return all trials, in order."""
        return [_row(row) for row in self._store.query(_TRIALS_SQL)]

    def causes(self) -> list[tuple[int, Cause]]:
        """Return (trial, cause) of every recorded trial, the worst cause first."""
        rows = self._store.query(
            "SELECT trial_id, kind, culprit, chain, slow_share FROM cause ORDER BY trial_id, rank"
        )
        return [(int(row[0]), Cause(*row[1:])) for row in rows]

    def writes(self) -> list[KnobWrite]:
        """Return the knob writes of all trials, in order."""
        return self._store.rows(KnobWrite, "FROM knob_write ORDER BY trial_id, position")

    def decide(self, key: str, value: object) -> None:
        """Write one part of the verdict; an earlier one is replaced."""
        self._store.write("INSERT OR REPLACE INTO verdict VALUES (?, ?)", [key, json.dumps(value)])

    def verdict(self) -> dict[str, Any]:
        """Return the parts of the verdict so far."""
        return {str(key): json.loads(value) for key, value in self._store.query("FROM verdict")}

    def predictions(self) -> list[WithoutKinds]:
        """Return what was predicted from the recording of the machine as it is."""
        found = self.verdict().get("predictions", [])
        return [WithoutKinds(**{**one, "kinds": tuple(one["kinds"])}) for one in found]


def _row(found: tuple[Any, ...]) -> TrialRow:
    """Return a trial. One with an SLO that cannot be judged has failed, in older studies too."""
    number, phase, proposed, settings, *middle, failed, recording, measured = found
    parsed = [json.loads(text) for text in (proposed, settings)]
    values = [SloValue(**table) for table in json.loads(measured or "[]")]
    short = {one.slo: shortage_of(parse(one.slo)[0], one) for one in values}
    ratios = {one.slo: one.value_ns / one.bound_ns for one in values if not short[one.slo]}
    failed = failed or next((text.rstrip(".") for text in short.values() if text), "")
    return TrialRow._make([number, phase, *parsed, *middle, failed, recording, ratios])
