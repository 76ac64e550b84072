"""Benchmark of the explorer on a large recording: first paint, clicks, memory.

    python -m rcp.ui.bench [--requests N] [--json]

The recording is that of the analyzer's benchmark, with ten sleeps and about nine segments per
request. There all requests take equally long, so the benchmark stretches latencies to a heavy tail
like that of a busy disk. Intervals of one thread then overlap, which affects no screen.
"""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click

from rcp.analyzer.bench.analysis import host_facts
from rcp.analyzer.bench.recording import SLEEPS_PER_REQUEST, write_spool
from rcp.analyzer.db.store import open_other
from rcp.analyzer.loading.load import load_spool
from rcp.probes.contract.options import PATH
from rcp.ui.browser import Server, chromium, page, peak_mib, served, settle
from rcp.ui.queries import query

REQUESTS = 1_000_000
_IOS_PER_REQUEST = 3
_CHART = '[data-testid="stVegaLiteChart"] svg'
_MARK = '[data-testid="stVegaLiteChart"] [role="graphics-symbol"]'


def make_recording(target: Path, requests: int) -> None:
    """Write a recording of so many requests at ``target``."""
    rows = requests * SLEEPS_PER_REQUEST
    with tempfile.TemporaryDirectory(prefix="rcp-bench-", dir=target.parent) as folder:
        spool = write_spool(Path(folder) / "bench.spool", rows, requests * _IOS_PER_REQUEST)
        load_spool(spool, target)
    with open_other(target, "not a store", read_only=False) as store:
        for statement in query("bench/stretch").split(";"):
            if statement.strip():
                store.write(statement)


def _counts(target: Path) -> dict[str, int]:
    with open_other(target, "not a store", read_only=True) as store:
        return {
            name: store.query(f"SELECT count(*) FROM {name}")[0][0]
            for name in ("request", "segment", "edge", "inversion", "io", "sleep")
        }


class _Clock:
    """Times what a user waits for: from an action until the page is complete."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.interactions_s: dict[str, float] = {}
        self.page_loads_s: dict[str, float] = {}

    def act(self, what: str, action: Callable[[], Any], sign: str) -> None:
        """Act, and wait until ``sign`` (a selector) is on the page and it is complete."""
        begin = time.perf_counter()
        action()
        self._opened.wait_for_selector(sign)
        settle(self._opened)
        self._note(self.interactions_s, what, begin)

    def choose(self, label: str, option: str, parameter: str, what: str = "") -> None:
        """Choose an option of a list, and wait until the page is complete and the URL has it.

        *parameter* is what the URL then has, such as ``role=``.
        """
        self._opened.get_by_role("combobox", name=label).first.click()
        found = self._opened.get_by_role("option", name=option, exact=True)
        found.wait_for()
        begin = time.perf_counter()
        found.click()
        self._opened.wait_for_url(re.compile(rf"[?&]{re.escape(parameter)}"))
        settle(self._opened)
        self._note(self.interactions_s, what or f"{label}: {option}", begin)

    def load(self, url: str, path: str, sign: str, what: str = "") -> None:
        """Open an address."""
        begin = time.perf_counter()
        self._opened.goto(url + path, wait_until="commit")
        self._opened.wait_for_selector(sign)
        settle(self._opened)
        self._note(self.page_loads_s, what or path, begin)

    def _note(self, seconds: dict[str, float], what: str, begin: float) -> None:
        seconds[what] = round(time.perf_counter() - begin, 2)
        click.echo(f"{what}: {seconds[what]} s", err=True)


def _has(text: str) -> str:
    return f'[data-testid="stMain"] :text("{text}")'


_HEAT = f'{_MARK}[aria-label*="slowest: "]'
_CHAIN = _has("Critical path")
_RANKED = _has("Ranked by p99 share")


def _use_overview(opened: Any, clock: _Clock) -> None:
    """Try SLOs, choose other requests, go from a cell to its chain."""

    def slo(text: str) -> None:
        box = opened.get_by_placeholder("p999=50ms")
        box.fill(text)
        box.press("Enter")

    for bound in (1, 2, 5):
        clock.act(f"SLO {bound} ms", partial(slo, f"p99={bound}ms"), _has(f"p99={bound}ms:"))
    clock.choose("Requests of", "(all threads)", "role=")
    clock.choose("Kind", "fsync", "kind=")
    clock.act("a cell", opened.locator(_HEAT).last.click, _has("fsync by writer at"))
    example = opened.get_by_role("link", name="fsync by writer at").first
    clock.act("its chain", example.click, _CHAIN)


def _link(opened: Any, name: str | re.Pattern[str], *, exact: bool = False) -> Callable[[], Any]:
    found = opened.get_by_role("link", name=name, exact=exact).first
    return lambda: found.click()


def _use_inversions(opened: Any, clock: _Clock) -> None:
    """Filter patterns, go from one to a request it delayed."""
    link = partial(_link, opened)

    def until(text: str) -> None:
        box = opened.get_by_label("To s")
        box.fill(text)
        box.press("Enter")
        opened.wait_for_url(re.compile(r"[?&]to="))

    clock.act("Inversions", link("Inversions", exact=True), _RANKED)
    clock.choose("Kind of inversion", "io_dependency", "inversion=")
    clock.choose("Culprit", "checkpointer", "culprit=")
    clock.act("to 1.5 s", partial(until, "1.5"), _RANKED)
    clock.act("a pattern", link("fsync waits"), _has("Delayed requests"))
    clock.act("a request", link(re.compile(r"request \d")), _CHAIN)
    clock.act("Overview", link("Overview", exact=True), _HEAT)
    clock.act("slowest of a band", link("the slowest"), _CHAIN)


def _use_graph(opened: Any, clock: _Clock) -> None:
    """Add up the waits of more and more requests, go from an edge to its requests."""
    drawn, behind = _has("Who waited for what"), _has("Requests behind the edge")
    clock.act("Wait-for graph", _link(opened, "Wait-for graph", exact=True), drawn)
    clock.choose("By latency", "slowest 10 %", "slowest=10")
    clock.choose("By latency", "all requests", "slowest=all")
    clock.act("an edge", _link(opened, "fsync by writer → journal_commit"), behind)
    clock.act("another edge", _link(opened, re.compile("^journal_commit → jbd2")), behind)


def _use_compare(opened: Any, clock: _Clock, url: str, other: Path) -> None:
    """Compare with another recording, which is opened for it; then only one kind of requests."""
    clock.load(url, f"/compare?other={quote(str(other))}", _has("By reason"), "/compare")
    clock.choose("Kind", "fsync", "kind=", "compare, Kind: fsync")


def _load_pages(clock: _Clock, url: str) -> None:
    for path, sign in (
        ("/inversions?from=0.5&to=1.5", _RANKED),
        ("/inversions?role=all&culprit=checkpointer", _RANKED),
        ("/request", _has("Slowest requests")),
        ("/request?request=500000", _CHAIN),
        ("/?role=all&kind=fsync", _HEAT),
        ("/", _HEAT),
    ):
        clock.load(url, path, sign)


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _measure_server(server: Server, other: Path) -> dict[str, Any]:
    with chromium() as browser, page(browser) as (opened, log):
        begin = time.perf_counter()
        opened.goto(server.url, wait_until="commit")
        opened.wait_for_selector(_CHART)
        first_paint_s = time.perf_counter() - begin
        opened.wait_for_selector(_HEAT)
        settle(opened)
        whole_page_s = time.perf_counter() - begin
        clock = _Clock(opened)
        _use_overview(opened, clock)
        _use_inversions(opened, clock)
        _use_graph(opened, clock)
        _load_pages(clock, server.url)
        clock.choose("What if", "without checkpointer", "whatif=")
        peak_of_one_mib = peak_mib(server.pid)
        _use_compare(opened, clock, server.url, other)
    seconds = list(clock.interactions_s.values())
    return {
        "first_paint_s": round(first_paint_s, 2),
        "whole_page_s": round(whole_page_s, 2),
        "n_interactions": len(seconds),
        "interaction_p50_s": round(_quantile(seconds, 0.5), 2),
        "interaction_p95_s": round(_quantile(seconds, 0.95), 2),
        "interactions_s": clock.interactions_s,
        "page_loads_s": clock.page_loads_s,
        "server_peak_mib": peak_of_one_mib,
        "server_peak_comparing_mib": peak_mib(server.pid),
        "errors": log.errors,
        "requests_elsewhere": log.external,
    }


def measure(requests: int, keep: Path | None = None) -> dict[str, Any]:
    """Return the measurements on a recording of *requests* requests, kept or reused at *keep*."""
    with tempfile.TemporaryDirectory(prefix="rcp-ui-bench-") as folder:
        target = keep or Path(folder) / "bench.duckdb"
        if not target.exists():
            make_recording(target, requests)
        result: dict[str, Any] = {**_counts(target), "store_bytes": target.stat().st_size}
        # Beside each other, for the explorer to offer the second one; it opens that only for a
        # comparison. That is a copy: DuckDB takes two links to a file for the same database.
        one, other = Path(folder) / "one.duckdb", Path(folder) / "other.duckdb"
        one.symlink_to(target.resolve())
        shutil.copyfile(target, other)
        with served([one]) as server:
            result |= _measure_server(server, other)
    return result


@click.command()
@click.option("--requests", default=REQUESTS, show_default=True, help="Requests in the recording.")
@click.option("--keep", type=PATH, help="Recording to create or reuse.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def main(requests: int, keep: Path | None, as_json: bool) -> None:
    """Measure the explorer in a browser on a large synthetic recording."""
    found = {"host": host_facts(), **measure(requests, keep)}
    if as_json:
        click.echo(json.dumps(found, indent=1))
        return
    for name, value in found.items():
        click.echo(f"{name:20} {value}")


if __name__ == "__main__":
    main()
