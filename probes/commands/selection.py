"""What to record on this machine: the options, checked, and the machine's obstacles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rcp.probes.commands.common import say
from rcp.probes.commands.targets import TargetOptions
from rcp.probes.compiler import require_bcc
from rcp.probes.contract.durations import option_ns
from rcp.probes.kernel.active import missing_probes, without
from rcp.probes.kernel.features import Features, RecordError, read_features
from rcp.probes.kernel.obstacles import ObstaclesError, obstacles
from rcp.probes.program import Cgroup, Options, Target, compile_globs
from rcp.probes.requests.points import resolve_requests
from rcp.probes.who.containers import container_cgroup
from rcp.probes.who.roles import RuleError, cgroup_of, require_pid, resolve_rules, with_descendants


@dataclass(frozen=True)
class Selection:
    """What to record on this machine: the options, checked and resolved."""

    options: Options
    features: Features
    roles: list[dict[str, Any]]
    """Role rules, as ``meta`` stores them."""


def _target_cgroup(options: TargetOptions) -> Cgroup | None:
    if options.container and options.cgroup:
        raise RuleError("--container and --cgroup both choose a cgroup: give only one.")
    if options.container:
        return cgroup_of(container_cgroup(options.container))
    return cgroup_of(options.cgroup) if options.cgroup else None


def select(options: TargetOptions, *, has_command: bool = False) -> Selection:
    """Check and resolve the options, before anything is started; raises UserError.

    ``has_command``: the recorder will start a command, which may become the target.
    """
    features = without(read_features(), options.without)
    target = Target(
        pids=with_descendants(require_pid(pid) for pid in options.pid),
        comms=options.comm,
        cgroup=_target_cgroup(options),
        command=has_command,
    )
    compile_globs(target.comms)
    min_wait_ns = option_ns("--min-wait", options.min_wait) if options.min_wait else 0
    return Selection(
        options=Options(
            target,
            resolve_requests(options.request, features.tracefs, target.pids),
            min_wait_ns=min_wait_ns,
        ),
        features=features,
        roles=resolve_rules(options.foreground, options.background, options.profile),
    )


def require_machine(features: Features) -> None:
    """Raise ObstaclesError with everything that keeps this machine from recording.

    Call it after the options are checked: they cost less to mend. Says which probes are left out.
    """
    found = obstacles(features)
    try:
        require_bcc()
    except RecordError as error:
        found.append(str(error))
    if found:
        raise ObstaclesError(found)
    for probe in missing_probes(features):
        say(f"the probe {probe.name} is left out here: {probe.without}.")
