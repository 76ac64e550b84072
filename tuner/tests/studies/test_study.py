"""What others read of a study file."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.db.store import Store, StoreError
from rcp.tuner.errors import NotAStudyError, TuneError
from rcp.tuner.studies.records import KnobWrite
from rcp.tuner.studies.study import Study
from rcp.tuner.trials.measurement import Measurement, SloValue


def test_writes_are_those_of_the_trials_in_order(toy_study: Path) -> None:
    with Study.open(toy_study, read_only=True) as study:
        rows, writes = study.trials(), study.writes()
    expected = [
        KnobWrite(row.trial_id, position, name, str(value))
        for row in rows
        for position, (name, value) in enumerate(row.settings.items())
    ]
    assert expected
    assert writes == expected


def test_a_recording_and_a_text_are_no_studies_but_a_missing_file_is_none_of_these(
    tmp_path: Path,
) -> None:
    text, recording = tmp_path / "text.duckdb", tmp_path / "recording.duckdb"
    text.write_text("hello")
    Store.create(recording).close()
    for path in (text, recording):
        with pytest.raises(NotAStudyError) as refused:
            Study.open(path, read_only=True)
        assert str(refused.value) == (
            f"{path} is not a study of rcp-tune: name the file that --study wrote"
        )
    with pytest.raises(TuneError) as missing:
        Study.open(tmp_path / "gone", read_only=True)
    assert not isinstance(missing.value, NotAStudyError)


def test_a_trial_that_cannot_be_written_whole_is_not_written_at_all(
    tmp_path: Path, toy_study: Path
) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    slo = SloValue("p99=9ms", 8, 9, n_requests=2000, n_beyond=20)
    whole = Measurement({}, {"a": 1}, 5.0, [slo])
    with Study.open(path, read_only=False) as study:
        before, writes = study.trials(), study.writes()
        # the second row of the same SLO violates the primary key, after the trial's own row
        with pytest.raises(StoreError):
            study.add("search", "", 1, replace(whole, slos=[slo, slo]))
        assert (study.trials(), study.writes()) == (before, writes)
        number = study.add("search", "", 1, whole)
    with Study.open(path, read_only=True) as study:
        assert [row.trial_id for row in study.trials()] == [*(r.trial_id for r in before), number]
        assert study.writes()[len(writes) :] == [KnobWrite(number, 0, "a", "1")]


def test_an_interrupt_while_trials_are_copied_leaves_the_study_as_it_was(
    tmp_path: Path, toy_study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "s.duckdb"
    path.write_bytes(toy_study.read_bytes())
    with (
        Study.open(path, read_only=False) as study,
        Study.open(toy_study, read_only=True) as other,
    ):
        before = study.trials()
        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(Store, "write", interrupted_after(Store.write, 20))
            study.take_trials(other)
        assert study.trials() == before
        study.take_trials(other)
        assert len(study.trials()) == 2 * len(before)


def interrupted_after(write: Callable[..., None], n_writes: int) -> Callable[..., None]:
    calls = iter(range(n_writes))

    def counted(store: Store, sql: str, parameters: Sequence[Any] = ()) -> None:
        if next(calls, None) is None:
            raise KeyboardInterrupt
        write(store, sql, parameters)

    return counted
