"""``rcp-trace agent``: its options. What it does is in ``agent_running.py``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rcp.probes.commands.common import fail_with, say
from rcp.probes.contract.options import PATH
from rcp.probes.contract.user_error import UserError

if TYPE_CHECKING:
    from rcp.probes.commands.agent_config import Config

DEFAULT_CONFIG = "/etc/rcp-trace/agent.toml"

_AGENT_HELP = """Record all the time, as a service.

It keeps the last seconds of records, and writes them when a request is slow or on SIGUSR1. Every
few minutes it summarizes a part of ordinary time for `rcp-trace fleet`. It answers /metrics, for
Prometheus. Old recordings are deleted by age and size. When recording takes more CPU than its
budget, it records less and says so.

The configuration is a TOML file. SIGHUP has it read again; one that is wrong is named, and the
former stays in force. It tells systemd that it is ready and alive.

\b
Examples:
  rcp-trace agent --check
  sudo rcp-trace agent --config agent.toml
  sudo rcp-trace agent --max-cpu 2 --max-disk 1024
"""


def agent_command(analyst_argv: Sequence[str]) -> click.Command:
    """Return ``rcp-trace agent``; *analyst_argv* is the command that analyses a recording."""

    @click.command("agent", help=_AGENT_HELP, short_help="Record all the time, as a service.")
    @click.option(
        "--config",
        type=PATH,
        default=DEFAULT_CONFIG,
        show_default=True,
        help="File with the settings.",
    )
    @click.option("--check", is_flag=True, help="Check the configuration, and record nothing.")
    @click.option(
        "--max-cpu",
        type=click.FloatRange(min=0.0, min_open=True),
        metavar="PCT",
        help="Record less when recording uses more than this share of one CPU.  [default: the "
        "configuration's, else 5]",
    )
    @click.option(
        "--max-disk",
        type=click.IntRange(min=64),
        metavar="MIB",
        help="Delete the oldest recordings beyond this size.  [default: the configuration's, else "
        "4096]",
    )
    def command(config: Path, check: bool, max_cpu: float | None, max_disk: int | None) -> None:
        from rcp.probes.commands.agent_config import read_config
        from rcp.probes.commands.agent_running import run_agent

        def read() -> Config:
            cpus = max_cpu / 100 if max_cpu else None
            return read_config(config, cpus, max_disk << 20 if max_disk else None)

        try:
            if check:
                read()
                say(f"{config} is right.")
            else:
                run_agent(read, tuple(analyst_argv))
        except UserError as error:
            fail_with(error)

    return command
