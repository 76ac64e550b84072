"""The explorer in a real browser, for tests, screenshots and measurements.

The only module that imports playwright, which drives Debian's Chromium.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rcp.ui.command import ADDRESS, server_command, server_environment

VIEW_WIDTH, VIEW_HEIGHT = 1280, 800
PATIENCE_MS = 180_000
"""A page takes a second or two, but a hundred times that on a host that also runs emulators."""
_START_S = 300
"""Longest start of a server: streamlit's imports on a busy machine take ten seconds, or more."""
_END_S = 120

_LOCAL = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")

# Streamlit looks for its server below the page's path before it tries the root: 404s are expected.
_PROBED = ("/_stcore/health", "/_stcore/host-config")


class BrowserError(Exception):
    """There is no browser, or the server does not start; the message names the remedy."""


@dataclass(frozen=True)
class Server:
    """A running explorer."""

    url: str
    pid: int


@dataclass
class PageLog:
    """External requests and console errors of a page."""

    external: list[str] = field(default_factory=list)
    """Requests that left this machine's loopback."""
    errors: list[str] = field(default_factory=list)
    """Errors on the console."""


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as trial:
        trial.bind((ADDRESS, 0))
        return int(trial.getsockname()[1])


def _is_up(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError, TimeoutError):
        return False


@contextmanager
def served(files: Sequence[Path]) -> Iterator[Server]:
    """Run the explorer on recordings within the block."""
    port = free_port()
    url = f"http://{ADDRESS}:{port}"
    process = subprocess.Popen(
        server_command(port, has_browser=False),
        env=server_environment(files),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        deadline = time.monotonic() + _START_S
        while not _is_up(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise BrowserError(f"the explorer does not start on {', '.join(map(str, files))}.")
            time.sleep(0.1)
        yield Server(url, process.pid)
    finally:
        process.terminate()
        process.wait(_END_S)


@contextmanager
def chromium() -> Iterator[Any]:
    """Run Debian's Chromium headless within the block."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium")
    if program is None:
        raise BrowserError("chromium is not installed: `apt-get install chromium` installs it.")
    with sync_playwright() as driver:
        # Its sandbox needs user namespaces, which containers often lack; it loads only our pages.
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def page(browser: Any, *, is_dark: bool = False) -> Iterator[tuple[Any, PageLog]]:
    """Open a page; yield it with its log."""
    log = PageLog()
    context = browser.new_context(
        viewport={"width": VIEW_WIDTH, "height": VIEW_HEIGHT},
        color_scheme="dark" if is_dark else "light",
        service_workers="block",
    )
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE_MS)

    def request(made: Any) -> None:
        if not made.url.startswith(_LOCAL):
            log.external.append(made.url)

    def message(line: Any) -> None:
        if line.type == "error" and not line.location.get("url", "").endswith(_PROBED):
            log.errors.append(line.text)

    opened.on("request", request)
    opened.on("console", message)
    opened.on("pageerror", lambda error: log.errors.append(str(error)))
    try:
        yield opened, log
    finally:
        context.close()


def settle(opened: Any) -> None:
    """Wait until the script has run and every chart is drawn."""
    opened.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    opened.wait_for_function(
        "() => !document.querySelector('[data-testid=stSkeleton]')"
        " && [...document.querySelectorAll('[data-testid=stVegaLiteChart]')]"
        ".every(chart => chart.querySelector('canvas, svg'))"
    )


def peak_mib(pid: int) -> int:
    """Return the peak resident memory of a process in MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    return int(status.split("VmHWM:")[1].split()[0]) // 1024
