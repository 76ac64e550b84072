"""What others read of a study file."""

from pathlib import Path

import pytest

from rcp.analyzer.db.store import Store
from rcp.tuner.errors import NotAStudyError, TuneError
from rcp.tuner.studies.study import Study, Write


def test_writes_are_those_of_the_trials_in_order(toy_study: Path) -> None:
    with Study.open(toy_study, read_only=True) as study:
        rows, writes = study.trials(), study.writes()
    expected = [
        Write(row.trial_id, position, name, str(value))
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
