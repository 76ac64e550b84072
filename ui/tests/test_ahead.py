"""The overview's answers about other requests are there before they are chosen."""

from collections.abc import Callable, Iterator
from concurrent.futures import wait
from pathlib import Path
from threading import Event, current_thread
from typing import Any

import pytest

from rcp.fixtures.explored import journal, one_request
from rcp.ui import ahead
from rcp.ui.info.graph import Asked
from rcp.ui.info.population import Kind
from rcp.ui.source import Recording

BACKGROUND = "ThreadPoolExecutor"
Page = Callable[..., Any]
KINDS = [Kind("foreground", "fsync", 9), Kind("foreground", "read", 5), Kind("unknown", "read", 1)]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    opened = Recording(journal(3).write(tmp_path / "a.spool"))
    yield opened
    opened.close()


def test_all_other_roles_and_kinds_are_a_click_away() -> None:
    # One click away, then two.
    assert list(ahead.others(KINDS, "foreground", "")) == [
        ("", ""),
        ("unknown", ""),
        ("foreground", "fsync"),
        ("foreground", "read"),
        ("", "fsync"),
        ("", "read"),
        ("unknown", "read"),
    ]
    # No unknown thread has an fsync.
    assert list(ahead.others(KINDS, "foreground", "fsync"))[:2] == [
        ("", "fsync"),
        ("foreground", ""),
    ]


class Questions:
    """The page's questions that were not answered from the cache."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.names: list[str] = []
        self.recordings: list[Recording] = []
        ask = Recording.ask

        def spied(recording: Recording, question: Any, *arguments: Any, **named: Any) -> Any:
            def computed(store: Any, *arguments: Any, **named: Any) -> Any:
                if not current_thread().name.startswith(BACKGROUND):
                    self.names.append(question.__qualname__)
                return question(store, *arguments, **named)

            computed.__module__, computed.__qualname__ = question.__module__, question.__qualname__
            if recording not in self.recordings:
                self.recordings.append(recording)
            return ask(recording, computed, *arguments, **named)

        monkeypatch.setattr(Recording, "ask", spied)

    def settle(self) -> None:
        """Wait for what is asked ahead; forget the questions so far."""
        for recording in self.recordings:
            wait(recording._ahead)
        self.names.clear()


@pytest.mark.parametrize(("box", "chosen"), [("Requests of", "all"), ("Kind", "fsync")])
def test_a_choice_of_other_requests_computes_nothing(
    box: str, chosen: str, page: Page, saved: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Questions(monkeypatch)
    app = page("overview", saved(journal(3), "three.duckdb"))
    assert "heat" in asked.names
    asked.settle()
    (found,) = [one for one in app.selectbox if one.label == box]
    found.select(chosen).run()
    assert not app.exception
    assert asked.names == []


def test_two_choices_in_a_row_compute_nothing(
    page: Page, saved: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Questions(monkeypatch)
    app = page("overview", saved(journal(3), "three.duckdb"))
    asked.settle()
    for box, chosen in (("Requests of", "all"), ("Kind", "fsync")):
        (found,) = [one for one in app.selectbox if one.label == box]
        found.select(chosen).run()
    assert not app.exception
    assert asked.names == []


@pytest.mark.parametrize(("box", "chosen"), [("Requests of", "all"), ("Kind", "fsync")])
def test_a_comparison_of_other_requests_computes_nothing(
    box: str, chosen: str, page: Page, saved: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Questions(monkeypatch)
    before, after = (saved(journal(n), f"{n}.duckdb") for n in (3, 4))
    app = page("compare", before, after)
    assert asked.names.count("side") == 2
    asked.settle()
    (found,) = [one for one in app.selectbox if one.label == box]
    found.select(chosen).run()
    assert not app.exception
    assert asked.names == []


def test_tasks_not_begun_make_room_for_newer_ones(recording: Recording) -> None:
    done: list[str] = []
    begun, may_end = Event(), Event()

    def first() -> None:
        begun.set()
        may_end.wait()
        done.append("first")

    recording.later([first, lambda: done.append("never")])
    begun.wait()
    recording.later([lambda: done.append("newer")])
    may_end.set()
    recording._ahead[-1].result()
    assert done == ["first", "newer"]


def test_nothing_is_asked_ahead_of_a_recording_that_grows(tmp_path: Path) -> None:
    opened = Recording(one_request().write(tmp_path / "live.spool", finished=False))
    ahead.ask_others(opened, "foreground", "", ())
    ahead.ask_sides((opened, opened), "foreground", "")
    ahead.ask_graph(opened, Asked("foreground", "", "all"))
    assert opened._ahead == []
    opened.close()
