"""``rcp-trace record``, ``live`` and ``agent``: the recorder's commands, joined to the analyzer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rcp.probes.commands.agent import agent_command
from rcp.probes.commands.analysis import Analysis
from rcp.probes.commands.live import live_command
from rcp.probes.commands.record import record_command
from rcp.probes.contract.printing.page import page

if TYPE_CHECKING:
    from rcp.probes.contract.spool import Spool


def _load_recorded(spool: Path, output: Path) -> None:
    from rcp.analyzer.loading.load import load_spool

    load_spool(spool, output)


def _analyse(spool: Spool) -> dict[str, Any]:
    from rcp.analyzer.reports.live import analyse

    return analyse(spool)


def _live_text(report: dict[str, Any]) -> str:
    from rcp.analyzer.reports.live import as_text

    return as_text(report, page())


record = record_command(_load_recorded)
live = live_command(Analysis(_analyse, _live_text))
agent = agent_command((sys.executable, "-m", "rcp.analyzer.agent"))
