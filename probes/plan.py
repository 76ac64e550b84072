"""What is to be recorded, and what a spool says of it and of the machine."""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rcp.probes.contract.events import SCHEMA_VERSION
from rcp.probes.contract.options import FULL
from rcp.probes.devices import device_labels, devices, queues
from rcp.probes.flight.flight import FlightPlan, describe_flight
from rcp.probes.kernel.active import missing_probes
from rcp.probes.kernel.features import Features
from rcp.probes.kernel.late_modules import absent_modules
from rcp.probes.program import Options
from rcp.probes.who.cmdlines import arguments_to_store, cmdlines, redacted


@dataclass(frozen=True)
class Plan:
    """What to record, until when, and into which spool."""

    spool: Path
    options: Options
    features: Features
    roles: list[dict[str, Any]]
    duration_s: float | None = None
    command: tuple[str, ...] = ()
    """Program and arguments to start and record; empty: none."""
    max_bytes: int = 2 << 30
    progress: Callable[[int, int], None] = lambda n_records, n_bytes: None
    """Called about once a second with what was recorded so far."""
    max_cpu: float | None = None
    """CPUs that recorder and probes may use together; above it they record less (budget.py)."""
    flight: FlightPlan | None = None
    """Keep only the last seconds and write them when triggered; None: record everything."""
    cmdline: str = FULL
    """How much of command lines to store (``cmdlines.py``)."""


def _argv_to_store(plan: Plan) -> list[str]:
    """Return the recorder's command line without secrets; ``--cmdline`` applies to the command."""
    own = sys.argv[: len(sys.argv) - len(plan.command)]
    return [*redacted(own), *arguments_to_store(plan.command, plan.cmdline)]


def describe(plan: Plan) -> dict[str, Any]:
    """Return the spool's ``meta``: host, clock, options, roles and what the kernel lacks."""
    shift = os.environ.get("RCP_LAB_ICOUNT_SHIFT", "")
    requests = plan.options.requests
    return {
        "schema_version": SCHEMA_VERSION,
        "rcp_version": version("rcp-trace"),
        "argv": _argv_to_store(plan),
        "host": {
            "name": platform.node(),
            "kernel": platform.release(),
            "kernel_version": platform.version(),
            "machine": platform.machine(),
            "n_cpus": os.cpu_count(),
            "boot_id": Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
        },
        "clock": {
            "started_monotonic_ns": time.monotonic_ns(),
            "started_realtime_ns": time.time_ns(),
            "virtual": os.environ.get("RCP_LAB_VIRTUAL_TIME") == "1",
            "icount_shift": int(shift) if shift.isdigit() else None,
        },
        "recorder_pid": os.getpid(),
        "roles": plan.roles,
        "cmdlines": cmdlines(plan.cmdline),
        "request_syscalls": {str(number): name for number, name in requests.syscalls.items()},
        "request_points": {str(number): name for number, name in requests.point_names.items()},
        "devices": devices(),
        "device_labels": device_labels(),
        "queues": queues(),
        "missing_functions": list(plan.features.missing_functions),
        "missing_modules": list(plan.features.missing_modules),
        "absent_modules": absent_modules(plan.features),
        "missing_probes": [probe.name for probe in missing_probes(plan.features)],
        "filters": {"min_wait_ns": plan.options.min_wait_ns},
        **({"flight": describe_flight(plan.flight)} if plan.flight else {}),
    }
