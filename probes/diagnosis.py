"""Which hooks each probe finds on this kernel, and what missing ones cost the verdicts."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import Any

from rcp.probes.attach import Probes, import_bcc
from rcp.probes.kernel.active import is_foreign, lacking
from rcp.probes.kernel.features import Features, RecordError, read_features, require
from rcp.probes.kernel.probe import PROBES, Probe
from rcp.probes.program import Options


@dataclass(frozen=True)
class ProbeHealth:
    """The state of one probe on this kernel."""

    probe: str
    question: str
    state: str
    """``ok``, ``partly``, ``missing``, or ``foreign``: for the patched kernel only."""
    missing: tuple[str, ...]
    cost: str
    """What the missing hooks cost the verdicts, empty when none is missing."""


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

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def health_of(probe: Probe, features: Features) -> ProbeHealth:
    """Return the state of one probe, from the hooks the kernel has."""
    if is_foreign(probe, features):
        return ProbeHealth(probe.name, probe.question, "foreign", (), "")
    required = lacking(probe, features)
    optional = tuple(n for n in probe.optional_functions if n in features.missing_functions)
    if required:
        cost = probe.without or "no recording"
        return ProbeHealth(probe.name, probe.question, "missing", required, cost)
    if optional:
        return ProbeHealth(probe.name, probe.question, "partly", optional, probe.without_optional)
    if probe.module in features.missing_modules:
        lacks, cost = (f"the types of {probe.module}",), probe.without_module
        return ProbeHealth(probe.name, probe.question, "partly", lacks, cost)
    return ProbeHealth(probe.name, probe.question, "ok", (), "")


def diagnose(load: bool) -> Diagnosis:
    """Check the kernel; with ``load``, also attach every probe once."""
    features = read_features()
    obstacle, loaded = "", False
    try:
        require(features)
        import_bcc()
        if load:
            with Probes(Options(), features, os.getpid()):
                loaded = True
    except RecordError as error:
        obstacle = str(error)
    return Diagnosis(
        kernel=features.release,
        obstacle=obstacle,
        loaded=loaded,
        interrupts_told_apart=bool(features.preempt_count_addr and features.per_cpu_offset_addr),
        probes=tuple(health_of(probe, features) for probe in PROBES),
    )


def as_text(diagnosis: Diagnosis) -> str:
    """Return a diagnosis as text for a terminal."""
    lines = [f"kernel {diagnosis.kernel}", ""]
    for probe in diagnosis.probes:
        lines.append(f"{probe.state:8} {probe.probe:15} {probe.question}")
        if probe.state == "foreign":
            lines.append(f"{'':24} needs the patched kernel")
        if probe.missing:
            lines.append(f"{'':24} lacks {', '.join(probe.missing)}: {probe.cost}")
    if not diagnosis.interrupts_told_apart:
        lines += [
            "",
            "The kernel hides its addresses (kernel.kptr_restrict). Wake-ups by interrupts look",
            "like wake-ups by the interrupted task, so chains may name the wrong waker.",
        ]
    lines.append("")
    if diagnosis.obstacle:
        lines.append(f"Cannot record: {diagnosis.obstacle}")
    elif diagnosis.loaded:
        lines.append("Ready: every probe was loaded, attached and detached.")
    else:
        lines.append("Probably ready: run without --no-load to load and attach every probe once.")
    return "\n".join(lines)
