"""What the explorer takes on a large recording: first paint, clicks, memory.

    python -m rcp.ui.bench [--requests N] [--json]

The recording is the analyzer's benchmark's, ten sleeps and about nine segments a request. There
every request takes as long as any other, so latencies are stretched afterwards to look like
those of a busy disk: heavily tailed. Threads then overlap themselves, which no screen minds.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from rcp.analyzer.bench import host_facts
from rcp.analyzer.bench_recording import SLEEPS_PER_REQUEST, write_spool
from rcp.analyzer.load import load_spool
from rcp.analyzer.store import open_other
from rcp.ui.browser import Server, chromium, page, peak_mib, served
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
    """Times what a person waits for: from an action to what it brings."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.seconds: list[tuple[str, float]] = []

    def wait(self, what: str, act: Callable[[], Any], sign: str) -> None:
        """Act, and wait until ``sign`` (a selector) is on the page."""
        click.echo(f"{what} …", err=True)
        begin = time.perf_counter()
        act()
        self._opened.wait_for_selector(sign)
        self.seconds.append((what, time.perf_counter() - begin))


def _has(text: str) -> str:
    return f'[data-testid="stMain"] :text("{text}")'


def _interact(opened: Any, clock: _Clock, url: str) -> None:
    """Do what people do: the SLO, a cell, a chain, patterns, filters."""

    def slo(text: str) -> Callable[[], Any]:
        def type_it() -> None:
            box = opened.get_by_placeholder("p999=50ms")
            box.fill(text)
            box.press("Enter")

        return type_it

    def go(path: str) -> Callable[[], Any]:
        return lambda: opened.get_by_role("link", name=path, exact=True).first.click()

    def address(path: str) -> Callable[[], Any]:
        return lambda: opened.goto(url + path, wait_until="commit")

    for bound in (1, 2, 5):
        clock.wait(f"SLO {bound} ms", slo(f"p99={bound}ms"), _has(f"p99={bound}ms:"))
    cell = opened.locator(f'{_MARK}[aria-label*="the slowest took"]').last
    clock.wait("a cell", cell.click, _has("fsync by writer at"))
    clock.wait(
        "its chain",
        opened.get_by_role("link", name="fsync by writer at").first.click,
        _has("Who waited for whom"),
    )
    clock.wait("Inversions", go("Inversions"), _has("Ranked by p99 share"))
    clock.wait(
        "a pattern",
        opened.get_by_role("link", name="fsync waits").first.click,
        _has("Requests held up"),
    )
    clock.wait(
        "a request",
        opened.get_by_role("link", name=re.compile(r"request \d")).first.click,
        _has("Who waited for whom"),
    )
    clock.wait("Overview again", go("Overview"), f'{_MARK}[aria-label*="the slowest took"]')
    clock.wait(
        "slowest of a band",
        opened.get_by_role("link", name="the slowest").first.click,
        _has("Who waited for whom"),
    )
    for path, sign in (
        ("/inversions?inversion=condition", "Ranked by p99 share"),
        ("/inversions?from=0.5&to=1.5", "Ranked by p99 share"),
        ("/inversions?culprit=checkpointer", "Ranked by p99 share"),
        ("/request", "Slowest requests"),
        ("/request?request=500000", "Who waited for whom"),
        ("/?role=all", "Over time"),
        ("/?kind=fsync", "Over time"),
        ("/", "Over time"),
    ):
        clock.wait(f"open {path}", address(path), _has(sign))


def _quantile(values: list[float], share: float) -> float:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]


def _measure_server(server: Server) -> dict[str, Any]:
    with chromium() as browser, page(browser) as (opened, seen):
        begin = time.perf_counter()
        opened.goto(server.url, wait_until="commit")
        opened.wait_for_selector(_CHART)
        first_paint_s = time.perf_counter() - begin
        opened.wait_for_selector(f'{_MARK}[aria-label*="the slowest took"]')
        whole_page_s = time.perf_counter() - begin
        clock = _Clock(opened)
        _interact(opened, clock, server.url)
    seconds = [taken for _, taken in clock.seconds]
    return {
        "first_paint_s": round(first_paint_s, 2),
        "whole_page_s": round(whole_page_s, 2),
        "n_interactions": len(seconds),
        "interaction_p50_s": round(_quantile(seconds, 0.5), 2),
        "interaction_p95_s": round(_quantile(seconds, 0.95), 2),
        "interactions_s": {what: round(taken, 2) for what, taken in clock.seconds},
        "server_peak_mib": peak_mib(server.pid),
        "errors": seen.errors,
        "requests_elsewhere": seen.elsewhere,
    }


def measure(requests: int, kept: Path | None = None) -> dict[str, Any]:
    """Return what the explorer takes on a recording of so many requests; keep it at ``kept``."""
    with tempfile.TemporaryDirectory(prefix="rcp-ui-bench-") as folder:
        target = kept or Path(folder) / "bench.duckdb"
        if not target.exists():
            make_recording(target, requests)
        result: dict[str, Any] = {**_counts(target), "store_bytes": target.stat().st_size}
        with served([target]) as server:
            result |= _measure_server(server)
    return result


@click.command()
@click.option("--requests", default=REQUESTS, show_default=True, help="Requests in the recording.")
@click.option("--keep", type=click.Path(path_type=Path), help="Recording to make, or use again.")
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
