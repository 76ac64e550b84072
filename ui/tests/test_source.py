"""Answers of a recording are computed once, whoever asks."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest

from rcp.analyzer.db.store import Store
from rcp.fixtures.explored import one_request
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
