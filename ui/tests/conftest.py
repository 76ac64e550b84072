"""Synthetic recording in, tuples out; and the explorer's pages without a browser."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rcp.analyzer.db.store import Store
from rcp.analyzer.loading.load import load_in_memory, load_spool
from rcp.fixtures.processes import HANG_S
from rcp.fixtures.synth import Synth
from rcp.ui import browser as browsers
from rcp.ui.source import FILES_VARIABLE, demo_recording, prepare_inversions, prepare_requests

APP = Path(__file__).parents[1] / "app.py"

Load = Callable[[Synth], Store]
Saved = Callable[[Synth, str], Path]
Page = Callable[..., Any]


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    """Load a synthetic recording into a store as the explorer opens it."""
    opened: list[Store] = []

    def of(synth: Synth) -> Store:
        folder = synth.write(tmp_path / f"{len(opened)}.spool")
        store = load_in_memory(folder, commented=True)
        opened.append(store)
        prepare_requests(store)
        prepare_inversions(store)
        return store

    yield of
    for store in opened:
        store.close()


@pytest.fixture
def saved(tmp_path: Path) -> Saved:
    """Save a synthetic recording as a DuckDB file of this name."""

    def of(synth: Synth, name: str) -> Path:
        spool = synth.write(tmp_path / f"spools/{name}.spool")
        load_spool(spool, tmp_path / name)
        return tmp_path / name

    return of


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Page:
    """Open a screen of recordings without a browser; ``visit`` goes on from there."""
    testing = pytest.importorskip("streamlit.testing.v1")

    def of(screen: str, *files: Path, **params: object) -> Any:
        monkeypatch.setenv(FILES_VARIABLE, json.dumps([str(path) for path in files]))
        app = testing.AppTest.from_file(str(APP), default_timeout=HANG_S)
        for name, value in params.items():
            app.query_params[name] = str(value)
        app.run()
        return app if screen == "overview" else switched(app, screen, **params)

    return of


def switched(app: Any, screen: str, **params: object) -> Any:
    app.switch_page(f"screens/{screen}.py")
    for name, value in params.items():
        app.query_params[name] = str(value)
    return app.run()


@pytest.fixture
def visit() -> Page:
    """Switch an open page to another screen."""
    return switched


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser without a window; skips where there is none."""
    pytest.importorskip("playwright")
    try:
        with browsers.chromium() as running:
            yield running
    except browsers.BrowserError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def served() -> list[Path]:
    """The recordings that ``server`` shows; a module may have its own."""
    return [demo_recording()]


@pytest.fixture(scope="module")
def server(served: list[Path]) -> Iterator[browsers.Server]:
    """The explorer as a process of its own."""
    with browsers.served(served) as running:
        yield running
