"""A user's query on a server: refused where it writes, stopped where it takes too long."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from rcp.analyzer.db.arrow import as_parquet
from rcp.analyzer.db.sandbox import Limits, ask_until_interrupted, ask_within
from rcp.analyzer.db.store import Result, Store, StoreError
from rcp.fixtures.processes import HANG_S

LIMITS = Limits(seconds=HANG_S, rows=3)
FOR_DAYS = "SELECT count(*) FROM range(1000000000) a, range(1000) b"


@pytest.fixture
def ask() -> Iterator[Callable[..., Result]]:
    with Store.create(None) as store:
        store.write("INSERT INTO meta VALUES ('clock', '\"virtual\"')")
        yield lambda sql, limits=LIMITS: ask_within(store, sql, limits)


Ask = Callable[..., Result]


def test_no_more_rows_than_asked_for_are_read(ask: Ask) -> None:
    assert ask("FROM range(1000000000000)") == Result(["range"], [(0,), (1,), (2,)], is_cut=True)
    assert ask("FROM range(3)").is_cut is False


def test_no_thread_is_left_when_the_answer_is_there(ask: Ask) -> None:
    # One that still closed its connection while the process ended would abort it.
    before = threading.enumerate()
    with Store.create(None) as store:
        for _ in range(50):
            ask("FROM range(100000)")
            assert threading.enumerate() == before
            ask_until_interrupted(store, "FROM range(100000) ORDER BY 1 DESC")
            assert threading.enumerate() == before
            with pytest.raises(StoreError):
                ask("SELEC 1")
            assert threading.enumerate() == before


def test_an_interrupt_may_come_after_the_end() -> None:
    with Store.create(None) as store:
        own = store.beside()
        own.close()
        own.interrupt()


def test_an_interrupt_may_come_at_any_time() -> None:
    with Store.create(None) as store:
        for _ in range(100):
            own, ended = store.beside(), threading.Event()

            def interrupt_it(own: Store = own, ended: threading.Event = ended) -> None:
                while not ended.is_set():
                    own.interrupt()

            with ThreadPoolExecutor(1) as pool:
                interrupting = pool.submit(interrupt_it)
                with suppress(StoreError):
                    assert own.ask("SELECT 1").rows == [(1,)]
                own.close()
                ended.set()
            interrupting.result()
        assert store.query("SELECT 1") == [(1,)]


def test_a_query_that_runs_for_ever_is_stopped(ask: Ask) -> None:
    began = time.monotonic()
    with pytest.raises(StoreError) as refused:
        ask(FOR_DAYS, Limits(0.2, 10))
    assert str(refused.value) == (
        "the query was stopped after 0.2 s: query fewer requests, or run it without a limit "
        "by `rcp-trace sql`."
    )
    assert time.monotonic() - began < 600
    assert ask("SELECT key FROM meta").rows == [("clock",)]


def test_a_query_is_stopped_before_it_begins(ask: Ask) -> None:
    before = threading.enumerate()
    for _ in range(50):
        with pytest.raises(StoreError, match="was stopped after 0 s"):
            ask(FOR_DAYS, Limits(0, 10))
        assert threading.enumerate() == before


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("DELETE FROM meta", "a recording is only read, DELETE would change it"),
        (
            "SET threads = 1",
            "a recording is only queried, SET is no query: ask with SELECT",
        ),
        ("EXPLAIN ANALYZE DELETE FROM meta", "launched in read-only mode"),
        ("COPY meta TO 'stolen.csv'", "a recording is only read, COPY would change it"),
        ("FROM read_csv('/etc/passwd')", "file system operations are disabled"),
        ("SELECT 1; DROP TABLE meta", "2 SQL statements were given: give one"),
        ("SELEC 1", 'bad SQL: syntax error at or near "SELEC".'),
        ("-- nothing", "there is no SQL statement: give one"),
    ],
)
def test_what_is_no_reading_is_refused_in_one_line(ask: Ask, sql: str, why: str) -> None:
    with pytest.raises(StoreError) as refused:
        ask(sql)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert ask("SELECT count(*) FROM meta").rows == [(1,)]


def test_parquet_holds_what_arrow_has_no_type_for_as_text(tmp_path: Path) -> None:
    target = tmp_path / "answer.parquet"
    target.write_bytes(as_parquet(["n", "n", "big"], [(1, "a", 2**70), (None, None, None)]))
    with Store.create(None) as store:
        found = store.query(f"FROM '{target}'")
        names = store.query(f"SELECT column_name FROM (DESCRIBE FROM '{target}')")
    assert found == [(1, "a", str(2**70)), (None, None, None)]
    assert [name for (name,) in names] == ["n", "n:1", "big"]
