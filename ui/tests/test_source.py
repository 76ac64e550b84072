"""Answers of a recording are computed once, whoever asks."""

import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from rcp.analyzer.db.recording_id import recording_id
from rcp.analyzer.db.store import Store, StoreError
from rcp.fixtures.explored import one_request
from rcp.ui import source
from rcp.ui.source import ANSWERS_MAX, Recording


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    opened = Recording(one_request().write(tmp_path / "a.spool"))
    yield opened
    opened.close()


def test_threads_that_ask_the_same_at_once_share_one_answer(recording: Recording) -> None:
    asked: list[int] = []
    begun, may_end, together = Event(), Event(), Barrier(3)

    def question(store: Store, number: int) -> int:
        asked.append(number)
        begun.set()
        may_end.wait()
        return number

    def ask() -> int:
        together.wait()
        return recording.ask(question, 7)

    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(ask) for _ in range(3)]
        begun.wait()
        may_end.set()
        assert [one.result() for one in found] == [7, 7, 7]
    assert asked == [7]


def test_tables_of_inversions_are_built_when_they_are_needed_and_once(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    built: list[Store] = []
    monkeypatch.setattr(source, "prepare_inversions", built.append)
    recording.ask(recording_id)
    assert not built
    with ThreadPoolExecutor(3) as pool:
        for found in [pool.submit(recording.ask_inversions, recording_id) for _ in range(3)]:
            found.result()
    recording.prepare().result()
    assert len(built) == 1


def test_the_explorer_starts_without_the_tuner() -> None:
    code = "import sys, rcp.ui.frame; print(*(m for m in sys.modules if m.startswith('rcp.tuner')))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) <= {"rcp.tuner", "rcp.tuner.errors"}


def test_a_question_that_failed_is_asked_again(recording: Recording) -> None:
    asked: list[Any] = []

    def question(store: Store) -> int:
        asked.append(store)
        if len(asked) == 1:
            raise ValueError("once")
        return 5

    with pytest.raises(ValueError, match="once"):
        recording.ask(question)
    assert recording.ask(question) == 5
    assert recording.ask(question) == 5
    assert len(asked) == 2


def test_the_oldest_answers_are_dropped(recording: Recording) -> None:
    asked: list[int] = []

    def question(store: Store, number: int) -> int:
        asked.append(number)
        return number

    for number in [*range(ANSWERS_MAX + 1), ANSWERS_MAX, 0]:
        assert recording.ask(question, number) == number
    assert asked == [*range(ANSWERS_MAX + 1), 0]


def test_a_task_in_the_background_may_ask_about_inversions_first(recording: Recording) -> None:
    done = Event()

    def ask() -> None:
        recording.ask_inversions(recording_id)
        done.set()

    recording.later([ask])
    assert done.wait(60)


def test_a_recording_that_was_closed_says_so(tmp_path: Path) -> None:
    closed = Recording(one_request().write(tmp_path / "b.spool"))
    closed.close()
    for asked in (closed.prepare, lambda: closed.later([lambda: None])):
        with pytest.raises(StoreError, match=r"b\.spool was closed meanwhile: open it again"):
            asked()
