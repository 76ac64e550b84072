"""The explorer's recordings: found, opened read-only, and queried from any thread."""

from __future__ import annotations

import json
import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

from rcp.analyzer.blame.chains import generic_name
from rcp.analyzer.db.recording_id import recording_id
from rcp.analyzer.db.store import Store, StoreError, open_store
from rcp.analyzer.loading.opening import open_recording
from rcp.probes.contract.spool import PACKED_SUFFIX, is_spool, open_spool
from rcp.ui.queries import query

FILES_VARIABLE = "RCP_EXPLORE_FILES"
"""Environment variable that passes the paths of recordings to the server, as JSON."""

SUFFIXES = (".duckdb", ".spool", ".spool.tar.xz")
_BESIDE_MAX = 200
"""Recordings offered per folder: more make the list unreadable."""

ANSWERS_MAX = 256
"""Answers cached per recording: each has some thousand rows at most. Those that are asked ahead,
about other choices of requests, must not drop the page's own."""

_REQUEST_TABLES = ("request", "chosen")
_INVERSION_TABLES = ("pattern", "request_pattern", "request_inversion")
_GRAPH_TABLES = ("requester", "waited", "node", "picked", "parts")

Asked = ParamSpec("Asked")
Found = TypeVar("Found")


def demo_recording() -> Path:
    """Return the recording that comes with rcp."""
    name = "wal-vs-checkpoint.spool.tar.xz"
    return Path(str(files("rcp.fixtures") / "recordings" / name))


def given(environment: Mapping[str, str] = os.environ) -> list[Path]:
    """Return the recordings the server was started with, or the one that comes with rcp."""
    paths = [Path(path) for path in json.loads(environment.get(FILES_VARIABLE, "[]"))]
    return paths or [demo_recording()]


def offered(paths: Sequence[Path]) -> dict[str, Path]:
    """Return the recordings a page may open, by path: *paths* and those in their folders."""
    found = {str(path): path for path in paths}
    for folder in dict.fromkeys(path.parent for path in paths):
        try:
            beside = sorted(p for p in folder.iterdir() if p.name.endswith(SUFFIXES))
        except OSError:
            continue
        for path in beside[:_BESIDE_MAX]:
            if not path.name.startswith("."):
                found.setdefault(str(path), path)
    return found


@dataclass(frozen=True)
class Stamp:
    """Changes when the file does; the file must then be opened again."""

    path: str
    n_bytes: int
    changed_ns: int


def stamp(path: Path) -> Stamp:
    """Return the stamp of a recording; raise StoreError if it does not exist.

    A spool is a folder that a recorder appends to: its files count together.
    """
    try:
        facts = [entry.stat() for entry in path.iterdir()] if path.is_dir() else [path.stat()]
    except FileNotFoundError as error:
        raise StoreError(
            f"{path} does not exist: it was moved or deleted; `rcp-trace record` makes a recording."
        ) from error
    except OSError as error:
        raise StoreError(f"{path} cannot be read: {error.strerror}.") from error
    newest = max((fact.st_mtime_ns for fact in facts), default=0)
    return Stamp(str(path), sum(fact.st_size for fact in facts), newest)


def check(path: Path) -> None:
    """Raise StoreError or SpoolError if a recording cannot be opened, by quick checks only.

    A packed spool is not unpacked.
    """
    stamp(path)
    if path.is_dir() or is_spool(path):
        open_spool(path)
    elif not path.name.endswith(PACKED_SUFFIX):
        open_store(path).close()


def prepare_requests(store: Store) -> None:
    """Create the in-memory tables that most of the explorer's queries use."""
    store.write("ATTACH ':memory:' AS digest (READ_WRITE)")
    for name in _REQUEST_TABLES:
        store.write(query(f"digest/{name}"))


def prepare_inversions(store: Store) -> None:
    """Create the in-memory tables for ``ask_inversions``, which takes several times as long."""
    for name in _INVERSION_TABLES:
        store.write(query(f"digest/{name}"))
    comms = [comm for (comm,) in store.query(query("digest/comms"))]
    store.write(query("digest/actor"), [comms, [generic_name(comm) for comm in comms]])
    for name in _GRAPH_TABLES:
        store.write(query(f"digest/{name}"))


class Recording:
    """An open recording. It caches answers: a page asks the same questions at every click.

    It is open as soon as ``ask`` works. A thread builds the tables for ``ask_inversions``: from
    ``prepare`` on, or from the first such question.
    """

    def __init__(self, path: Path) -> None:
        """Open it; raise StoreError with one line for the user."""
        self.path = path
        self.is_running = path.is_dir() and not (path / "end.json").exists()
        self._store = open_recording(path, commented=True)
        self._answers: OrderedDict[Hashable, Future[Any]] = OrderedDict()
        self._lock = Lock()
        try:
            prepare_requests(self._store)
        except BaseException:
            self._store.close()
            raise
        self._pool = ThreadPoolExecutor(1)
        self._inversion_tables: Future[None] | None = None
        self._ahead: list[Future[None]] = []

    def _prepare_inversions(self) -> None:
        with self._store.beside() as store:
            prepare_inversions(store)

    def prepare(self) -> Future[None]:
        """Begin to build the tables for ``ask_inversions``, unless that was begun.

        It takes both cores for a second or more of a million requests. So a page that shows
        something else first begins it after that. Raises StoreError once the recording is closed.
        """
        with self._lock:
            if self._inversion_tables is None:
                self._inversion_tables = self._submit(self._prepare_inversions)
            return self._inversion_tables

    def _submit(self, task: Callable[[], None]) -> Future[None]:
        try:
            return self._pool.submit(task)
        except RuntimeError as error:
            raise StoreError(f"{self.path} was closed meanwhile: open it again.") from error

    @property
    def id(self) -> str:
        """What names it in links; "" while it is being recorded, for it still changes."""
        return "" if self.is_running else self.ask(recording_id)

    @property
    def name(self) -> str:
        """Its file name."""
        return self.path.name

    def ask(
        self,
        question: Callable[Concatenate[Store, Asked], Found],
        *arguments: Asked.args,
        **named: Asked.kwargs,
    ) -> Found:
        """Return ``question(store, …)``, from the cache if it was asked before.

        Of threads that ask the same at once, one computes the answer and the others wait for it.
        """
        key = (question.__module__, question.__qualname__, arguments, tuple(sorted(named.items())))
        with self._lock:
            answer = self._answers.get(key)
            if answer is not None:
                self._answers.move_to_end(key)
            else:
                self._answers[key] = mine = Future[Any]()
                while len(self._answers) > ANSWERS_MAX:
                    self._answers.popitem(last=False)
        if answer is not None:
            return cast(Found, answer.result())
        try:
            with self._store.beside() as store:
                mine.set_result(question(store, *arguments, **named))
        except BaseException as error:
            with self._lock:
                self._answers.pop(key, None)  # to be asked again
            mine.set_exception(error)
            raise
        return cast(Found, mine.result())

    def ask_inversions(
        self,
        question: Callable[Concatenate[Store, Asked], Found],
        *arguments: Asked.args,
        **named: Asked.kwargs,
    ) -> Found:
        """Return the same for a question about inversions; may wait for their tables."""
        self.prepare().result()
        return self.ask(question, *arguments, **named)

    def ask_uncached(
        self,
        question: Callable[Concatenate[Store, Asked], Found],
        *arguments: Asked.args,
        **named: Asked.kwargs,
    ) -> Found:
        """Return ``question(store, …)`` without caching: for answers too large to cache."""
        with self._store.beside() as store:
            return question(store, *arguments, **named)

    def later(self, tasks: Sequence[Callable[[], None]]) -> None:
        """Run tasks in the background, one after another, in place of those not yet begun.

        Raises StoreError once the recording is closed.
        """
        for waiting in self._ahead:
            waiting.cancel()
        if tasks:
            self.prepare()  # or the only thread would wait for itself if a task asks of inversions
        self._ahead = [self._submit(task) for task in tasks]

    def close(self) -> None:
        """Close it."""
        self._pool.shutdown(cancel_futures=True)
        self._store.close()
