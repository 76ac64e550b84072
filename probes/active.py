"""Which probes can run on this kernel. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rcp.probes.features import Features, RecordError
from rcp.probes.probe import PROBES, Probe


def lacking(probe: Probe, features: Features) -> tuple[str, ...]:
    """Return the hooks the probe cannot do without and this kernel does not have."""
    absent = {*features.missing_tracepoints, *features.missing_functions}
    return tuple(name for name in (*probe.tracepoints, *probe.functions) if name in absent)


def active_probes(features: Features) -> tuple[Probe, ...]:
    """Return the probes that run here, in the order they are compiled."""
    return tuple(probe for probe in PROBES if probe.essential or not lacking(probe, features))


def missing_probes(features: Features) -> tuple[Probe, ...]:
    """Return the probes that are left out here; what that costs is their ``without``."""
    return tuple(probe for probe in PROBES if probe not in active_probes(features))


def without(features: Features, names: Iterable[str]) -> Features:
    """Return what a kernel offers that lacks these hooks, or all hooks of these probes.

    Raises RecordError for a name that is neither.
    """
    by_name = {probe.name: probe for probe in PROBES}
    tracepoints, functions = set(features.missing_tracepoints), set(features.missing_functions)
    for name in names:
        probes = [by_name[name]] if name in by_name else list(PROBES)
        hooks = {name} if name not in by_name else set(by_name[name].hooks)
        known = {hook for probe in probes for hook in probe.hooks} & hooks
        if not known:
            raise RecordError(
                f"no probe and no kernel hook is called {name}: `rcp-trace doctor` lists the "
                "probes."
            )
        tracepoints |= {hook for hook in known if ":" in hook}
        functions |= {hook for hook in known if ":" not in hook}
    return replace(
        features,
        missing_tracepoints=tuple(sorted(tracepoints)),
        missing_functions=tuple(sorted(functions)),
    )
