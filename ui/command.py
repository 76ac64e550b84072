"""``rcp-trace explore``: start the explorer on this machine."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from rcp.analyzer.commands.common import CliError
from rcp.probes.contract.options import PATH
from rcp.probes.contract.printing.output import print_note

ADDRESS = "127.0.0.1"
PORT = 8501

_SERVER_SETTINGS = {
    "server.address": ADDRESS,
    "browser.serverAddress": ADDRESS,
    "browser.gatherUsageStats": "false",
    "server.showEmailPrompt": "false",
    "server.fileWatcherType": "none",
    "runner.magicEnabled": "false",
    "client.toolbarMode": "viewer",
    "client.showErrorLinks": "false",
    "client.showErrorDetails": "none",
    "logger.level": "error",
}
"""Loopback only, no telemetry, no developer tools."""


def _is_free(port: int) -> bool:
    with socket.socket() as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((ADDRESS, port))
        except OSError:
            return False
    return True


def server_command(port: int, has_browser: bool) -> list[str]:
    """Return the command of the server."""
    settings = {
        **_SERVER_SETTINGS,
        "server.port": str(port),
        "server.headless": str(not has_browser).lower(),
    }
    options = [f"--{name}={value}" for name, value in settings.items()]
    return [sys.executable, "-m", "rcp.ui.serve", *options]


def server_environment(files: Sequence[Path]) -> dict[str, str]:
    """Return the server's environment: ours plus the recordings and studies to offer."""
    from rcp.ui.source import FILES_VARIABLE
    from rcp.ui.studies import STUDIES_VARIABLE, is_study

    found: dict[str, list[str]] = {FILES_VARIABLE: [], STUDIES_VARIABLE: []}
    for path in files:
        found[STUDIES_VARIABLE if is_study(path) else FILES_VARIABLE].append(str(path.absolute()))
    return {**os.environ, **{name: json.dumps(paths) for name, paths in found.items()}}


@click.command(short_help="Explore recordings in the browser.")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=PATH)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=PORT,
    show_default=True,
    help="TCP port to listen on.",
)
@click.option("--no-browser", is_flag=True, help="Print the address only.")
def explore(files: tuple[Path, ...], port: int, no_browser: bool) -> None:
    """Explore recordings in the browser: slow requests, what delayed them, and how.

    The server listens on this machine only and changes no file. Each FILE is a recording, a spool
    (also of a recorder that is still running) or a study of rcp-tune. Without FILE it shows the
    recording that comes with rcp. With two recordings, the second is compared with the first.
    The page also offers the other recordings in the same folders. Ctrl-C stops the server; once
    it serves, that is exit status 0.

    \b
    Examples:
      rcp-trace explore slow.duckdb
      rcp-trace explore before.duckdb after.duckdb --port 8600 --no-browser
    """
    from rcp.ui.source import check, given
    from rcp.ui.studies import is_study

    if importlib.util.find_spec("streamlit") is None:
        raise CliError("the explorer needs streamlit: run `pip install '.[ui]'` in rcp's checkout.")
    if not _is_free(port):
        raise CliError(f"port {port} is in use: choose another one with --port.")
    chosen = list(files) or given({})
    for path in chosen:
        if not is_study(path):
            check(path)
    print_note(f"rcp-trace: http://{ADDRESS}:{port} until Ctrl-C")
    command = server_command(port, not no_browser)
    sys.stderr.flush()
    os.execve(command[0], command, server_environment(chosen))  # signals go to the server alone
