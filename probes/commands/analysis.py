"""What ``rcp-trace live`` needs of the analyzer, which probes must not import."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rcp.probes.contract.spool import Spool


@dataclass(frozen=True)
class Analysis:
    """The analyzer's functions, passed in because probes must not import the analyzer."""

    analyse: Callable[[Spool], dict[str, Any]]
    as_text: Callable[[dict[str, Any]], str]
