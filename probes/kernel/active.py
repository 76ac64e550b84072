"""Which probes run on this kernel. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from rcp.probes.kernel.features import Features, RecordError
from rcp.probes.kernel.probe import PROBES
from rcp.probes.kernel.probe_type import Probe


def lacking(probe: Probe, features: Features) -> tuple[str, ...]:
    """Return the hooks that the probe requires and this kernel lacks."""
    absent = {
        *features.missing_tracepoints,
        *features.missing_functions,
        *features.idle_functions,
    } - {*features.later_functions}
    if probe.needs_any and absent.issuperset(probe.optional_functions):
        return probe.optional_functions
    return tuple(name for name in (*probe.tracepoints, *probe.functions) if name in absent)


def active_probes(features: Features) -> tuple[Probe, ...]:
    """Return the probes that run here, in the order they are compiled."""
    return tuple(
        probe
        for probe in PROBES
        if probe.essential or not (probe.name in features.left_out or lacking(probe, features))
    )


def is_foreign(probe: Probe, features: Features) -> bool:
    """Whether the probe is for the patched kernel, and this kernel is not patched."""
    return probe.is_of_patch and set(probe.tracepoints).issubset(features.missing_tracepoints)


def missing_probes(features: Features) -> tuple[Probe, ...]:
    """Return the probes that do not run here; ``without`` says what that costs."""
    active = active_probes(features)
    absent = (p for p in PROBES if p not in active and not p.is_idle(features.idle_functions))
    return tuple(p for p in absent if not is_foreign(p, features))


def without(features: Features, names: Iterable[str]) -> Features:
    """Return the features without these probes and kernel hooks.

    Raises RecordError for a name that is neither.
    """
    left_out, hooks = set(features.left_out), set[str]()
    for name in names:
        if name in {probe.name for probe in PROBES if not probe.essential}:
            left_out.add(name)
        elif any(name in probe.hooks for probe in PROBES):
            hooks.add(name)
        else:
            raise RecordError(
                f"--without {name}: no optional probe and no kernel hook has this name: "
                "`rcp-trace doctor` lists the probes."
            )
    tracepoints = {*features.missing_tracepoints, *(hook for hook in hooks if ":" in hook)}
    functions = {*features.missing_functions, *(hook for hook in hooks if ":" not in hook)}
    return replace(
        features,
        left_out=tuple(sorted(left_out)),
        missing_tracepoints=tuple(sorted(tracepoints)),
        missing_functions=tuple(sorted(functions)),
    )
