"""One-line texts of the figures in ``meta.json`` and ``end.json``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rcp.probes.contract.durations import duration_text
from rcp.probes.contract.percent import percent


def cost_text(cost: Mapping[str, Any]) -> str:
    """Return a recording's cost (``Cost.as_dict``) as one line."""
    duration_s = max(cost["duration_s"], 1e-9)
    probes = "probes not measured"
    if cost["probe_cpu_s"] is not None:
        about = "" if cost["measured_share"] > 0.99 else "about "
        probes = f"probes {about}{percent(cost['probe_cpu_s'] / duration_s)}"
        if cost["probe_ns_per_run"]:
            probes += f" ({cost['probe_ns_per_run']:.0f} ns a run)"
    return (
        f"recorder {percent(cost['recorder_cpu_s'] / duration_s)} of one CPU, {probes}; "
        f"{cost['peak_rss_bytes'] / (1 << 20):.0f} MiB of memory, "
        f"{cost['spool_bytes'] / (1 << 20):.1f} MiB written, "
        f"{cost['events_per_s']:.0f} events/s"
    )


def _times(count: int) -> str:
    return "1 time" if count == 1 else f"{count} times"


def late_module(name: str) -> str:
    """Return what it means that the module *name* was loaded while recording."""
    return (
        f"the module {name} was loaded while recording, too late for its probes: whose work it "
        "does is not known; record again"
    )


def attached_module(name: str, since_ns: int) -> str:
    """Return since when the probes of a module run that was loaded while recording."""
    return (
        f"the module {name} was loaded while recording: its probes run since "
        f"{since_ns / 1e9:.1f} s after the start"
    )


def omission_notes(meta: Mapping[str, Any]) -> list[str]:
    """Return a line for each thing not recorded: by option, to save CPU, or not to be seen."""
    notes = [late_module(name) for name in meta.get("late_modules", ())]
    for name, attached_ns in meta.get("attached_modules", {}).items():
        # A window of a flight recorder may have begun later.
        since_ns = attached_ns - meta["clock"]["started_monotonic_ns"]
        notes += [attached_module(name, since_ns)] if since_ns > 0 else []
    min_wait_ns = meta.get("filters", {}).get("min_wait_ns")
    if min_wait_ns:
        notes.append(
            f"waits shorter than {duration_text(min_wait_ns)} were not recorded (--min-wait): "
            "their time counts as cpu"
        )
    shedding = meta.get("shedding") or {}
    for event in shedding.get("events", []):
        notes.append(
            f"at {percent(event['cpu_share'])} of a CPU (--max-cpu "
            f"{shedding['max_cpu'] * 100:g}) the recorder changed to: {event['step']}"
        )
    if shedding.get("n_pauses"):
        notes.append(
            f"recording paused {_times(shedding['n_pauses'])}, {shedding['paused_ns'] / 1e9:.1f} s "
            "in all, to save CPU: waits in that time count as cpu"
        )
    return notes
