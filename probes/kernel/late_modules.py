"""Modules that are loaded while recording: the probes of their functions come late."""

from __future__ import annotations

from collections.abc import Iterable

from rcp.probes.kernel.active import active_probes
from rcp.probes.kernel.features import Features
from rcp.probes.kernel.module_types import is_live
from rcp.probes.kernel.probe import PROBES


def absent_modules(features: Features) -> list[str]:
    """Return the modules that probes would hook if they were loaded, sorted."""
    idle = (probe for probe in PROBES if probe.is_idle(features.idle_functions))
    return sorted(
        {
            probe.modules[name]
            for probe in (*active_probes(features), *idle)
            if probe.name not in features.left_out
            for name in probe.optional_functions
            if name in probe.modules.keys() & set(features.idle_functions)
            and name not in features.missing_functions
        }
    )


class LateModules:
    """Looks for modules that were not loaded when the probes were attached."""

    def __init__(self, absent: Iterable[str]) -> None:
        """*absent* are names."""
        self._absent = set(absent)

    def take(self) -> list[str]:
        """Return the names of those that have been loaded since the last call, sorted."""
        loaded = sorted(name for name in self._absent if is_live(name))
        self._absent.difference_update(loaded)
        return loaded
