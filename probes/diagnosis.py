"""Which hooks each probe finds on this kernel, and what missing ones cost the verdicts."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from rcp.probes.attach import Probes
from rcp.probes.compiler import require_bcc
from rcp.probes.kernel.active import is_foreign, lacking
from rcp.probes.kernel.config import NO_CONFIG, KernelConfig, read_config
from rcp.probes.kernel.features import Features, RecordError, read_features
from rcp.probes.kernel.obstacles import obstacles
from rcp.probes.kernel.probe import PROBES
from rcp.probes.kernel.probe_type import Probe
from rcp.probes.program import Options


@dataclass(frozen=True)
class ProbeHealth:
    """The state of one probe on this kernel."""

    probe: str
    question: str
    state: str
    """``ok``, ``partly``, ``missing``, ``foreign``: for the patched kernel only, or ``idle``: for a
    module that is not loaded."""
    missing: tuple[str, ...]
    cost: str
    """What the missing hooks cost the verdicts, empty when none is missing."""
    remedy: str = ""
    """The kernel option or module that has the missing hooks, empty when none is known."""


@dataclass(frozen=True)
class Diagnosis:
    """Everything ``rcp-trace doctor`` prints."""

    kernel: str
    obstacle: str
    """Why recording is impossible, empty when it is possible."""
    loaded: bool
    """The probes were compiled, loaded and attached, then detached."""
    interrupts_told_apart: bool
    """Wake-ups by interrupts can be distinguished from wake-ups by tasks."""
    probes: tuple[ProbeHealth, ...]
    obstacles: tuple[str, ...] = ()
    """The same, one by one."""
    why_not_told_apart: str = ""
    """Why interrupts cannot be distinguished, and the remedy."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def _remedy(probe: Probe, config: KernelConfig) -> str:
    if probe.config and config.lacks(probe.config):
        return f"this kernel was built without {probe.config}"
    if probe.kernel_module and config.is_module(probe.config):
        return f"run `modprobe {probe.kernel_module}`"
    return f"needs {probe.config}" if probe.config else ""


def health_of(probe: Probe, features: Features, config: KernelConfig = NO_CONFIG) -> ProbeHealth:
    """Return the state of one probe, from the hooks the kernel has."""
    if is_foreign(probe, features):
        return ProbeHealth(probe.name, probe.question, "foreign", (), "")
    if probe.is_idle(features.idle_functions):
        return ProbeHealth(probe.name, probe.question, "idle", (), "")
    required = lacking(probe, features)
    optional = tuple(n for n in probe.optional_functions if n in features.missing_functions)
    if required:
        cost = probe.without or "no recording"
        remedy = _remedy(probe, config)
        return ProbeHealth(probe.name, probe.question, "missing", required, cost, remedy)
    if optional:
        return ProbeHealth(probe.name, probe.question, "partly", optional, probe.without_optional)
    if probe.module in features.missing_modules:
        lacks, cost = (f"the types of {probe.module}",), probe.without_module
        return ProbeHealth(probe.name, probe.question, "partly", lacks, cost)
    return ProbeHealth(probe.name, probe.question, "ok", (), "")


def _try_to_load(features: Features) -> str:
    """Attach every probe once; return why that fails, empty when it does not."""
    try:
        with Probes(Options(), features, os.getpid()):
            return ""
    except RecordError as error:
        return str(error)


def diagnose(load: bool) -> Diagnosis:
    """Check the kernel; with ``load``, also attach every probe once."""
    features = read_features()
    config = read_config(features.release)
    found = obstacles(features, config)
    try:
        require_bcc()
    except RecordError as error:
        found.append(str(error))
    tried = load and not found
    if tried and (failed := _try_to_load(features)):
        found.append(failed)
    return Diagnosis(
        kernel=features.release,
        obstacle=" ".join(found),
        loaded=tried and not found,
        interrupts_told_apart=not features.why_no_addresses,
        probes=tuple(health_of(probe, features, config) for probe in PROBES),
        obstacles=tuple(found),
        why_not_told_apart=features.why_no_addresses,
    )


def as_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text for a terminal."""
    lines = [f"kernel {diagnosis.kernel}", ""]
    for probe in diagnosis.probes:
        lines.append(f"{probe.state:8} {probe.probe:15} {probe.question}")
        if probe.state == "foreign":
            lines.append(f"{'':24} needs the patched kernel")
        if probe.state == "idle":
            lines.append(f"{'':24} its kernel module is not loaded, so there is nothing to record")
        if probe.missing:
            remedy = f" ({probe.remedy})" if probe.remedy else ""
            lines.append(f"{'':24} lacks {', '.join(probe.missing)}{remedy}: {probe.cost}")
    if not diagnosis.interrupts_told_apart:
        lines += [
            "",
            "Wake-ups by interrupts look like wake-ups by the interrupted task, so chains may name",
            f"the wrong waker: {diagnosis.why_not_told_apart}.",
        ]
    lines.append("")
    if diagnosis.obstacles:
        lines += [f"Cannot record: {obstacle}" for obstacle in diagnosis.obstacles]
    elif diagnosis.loaded:
        lines.append("Ready: every probe was loaded, attached and detached.")
    else:
        lines.append("Probably ready: run without --no-load to load and attach every probe once.")
    return "\n".join(lines)
