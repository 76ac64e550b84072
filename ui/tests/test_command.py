"""``rcp-trace explore`` refuses in one line what it cannot show, and ends by Ctrl-C."""

import signal
import socket
import subprocess
import sys
import time
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from click.testing import CliRunner

from rcp.analyzer.cli import main
from rcp.fixtures.explored import one_request
from rcp.fixtures.processes import HANG_S
from rcp.ui.command import server_command
from rcp.ui.source import demo_recording, given, offered


def error_of(*arguments: object) -> str:
    result = CliRunner().invoke(main, ["explore", *map(str, arguments)])
    assert result.exit_code == 2, result.output
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("rcp-trace: error: ").rstrip("\n")


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none.duckdb"
    assert error_of(path, "--no-browser", "--port", free_port()) == (
        f"{path} does not exist: it was moved or deleted; `rcp-trace record` makes a recording."
    )


def test_what_is_no_recording_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.duckdb"
    path.write_text("hello")
    assert error_of(path, "--no-browser", "--port", free_port()) == (
        f"{path} is not a recording: neither a DuckDB file nor a spool; "
        "`rcp-trace record` makes one."
    )


def test_a_port_in_use_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert error_of("--port", port) == f"port {port} is in use: choose another one with --port."


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        return int(trial.getsockname()[1])


def test_streamlit_that_is_missing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert error_of() == (
        "the explorer needs streamlit: run `pip install '.[ui]'` in rcp's checkout."
    )


def test_the_server_is_for_this_machine_and_tells_nobody() -> None:
    command = server_command(8501, has_browser=False)
    assert "--server.address=127.0.0.1" in command
    assert "--browser.gatherUsageStats=false" in command
    assert "--server.headless=true" in command


def test_without_a_file_the_checked_in_recording_is_shown() -> None:
    assert given({}) == [demo_recording()]
    assert demo_recording().exists()


def test_recordings_beside_a_file_are_offered_too(tmp_path: Path) -> None:
    one_request().write(tmp_path / "b.spool")
    for name in ("a.duckdb", ".hidden.duckdb", "notes.txt"):
        (tmp_path / name).write_text("")
    names = [path.name for path in offered([tmp_path / "a.duckdb"]).values()]
    assert names == ["a.duckdb", "b.spool"]


def until_it_serves(process: subprocess.Popen[str], port: int) -> None:
    until_s = time.monotonic() + HANG_S
    while time.monotonic() < until_s:
        assert process.poll() is None, process.communicate()
        try:
            with closing(HTTPConnection("127.0.0.1", port)) as asking:
                asking.request("GET", "/")
                asking.getresponse()
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError


def test_ctrl_c_is_how_a_server_ends_so_its_status_is_0() -> None:
    port = free_port()
    words = ["explore", "--no-browser", "--port", str(port)]
    with subprocess.Popen(
        [sys.executable, "-m", "rcp.analyzer", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            until_it_serves(process, port)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=HANG_S)
        finally:
            process.kill()
    told = f"rcp-trace: http://127.0.0.1:{port} until Ctrl-C\n"
    assert (process.returncode, error) == (0, told)
    help_text = CliRunner().invoke(main, ["explore", "--help"]).output
    assert "once it serves, that is exit status 0" in " ".join(help_text.split())
