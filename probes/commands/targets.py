"""What ``rcp-trace record`` and ``live`` look at: the options that choose it, and their check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from rcp.probes.attach import import_bcc
from rcp.probes.commands.common import say
from rcp.probes.contract.durations import option_ns
from rcp.probes.contract.role_profiles import profiles
from rcp.probes.kernel.active import missing_probes, without
from rcp.probes.kernel.features import read_features, require
from rcp.probes.kernel.probe import DEFAULT_SYSCALLS
from rcp.probes.program import Cgroup, Options, Target, compile_globs
from rcp.probes.record import Plan
from rcp.probes.requests.points import FORMS, resolve_requests
from rcp.probes.who.containers import container_cgroup
from rcp.probes.who.roles import RuleError, cgroup_of, require_pid, resolve_rules, with_descendants

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option("-p", "--pid", type=int, multiple=True, help="Target process, with children."),
    click.option("--comm", multiple=True, metavar="GLOB", help="Target threads by name."),
    click.option("--cgroup", metavar="PATH", help="Target cgroup (v2), with its children."),
    click.option(
        "--container", metavar="NAME", help="Target container, by name or beginning of its id."
    ),
    click.option(
        "--foreground",
        multiple=True,
        metavar="RULE",
        help="comm:GLOB, pid:N, cgroup:PATH or cmdline:REGEX; default: the targets.",
    ),
    click.option(
        "--background", multiple=True, metavar="RULE", help="The same for work nobody waits for."
    ),
    click.option(
        "--profile",
        multiple=True,
        metavar="NAME",
        help=f"Roles of a database's threads: {', '.join(profiles())}.",
    ),
    click.option(
        "--request",
        multiple=True,
        metavar="[NAME=]SPEC",
        help=f"What counts as a request: {FORMS}. Without any syscall:, these are recorded "
        f"too, inside the others: {' '.join(DEFAULT_SYSCALLS)}; syscall:none turns them off.",
    ),
    click.option(
        "--min-wait", metavar="TIME", help="Leave out waits shorter than TIME (20us): they cost."
    ),
    click.option(
        "--without",
        multiple=True,
        metavar="PROBE",
        help="Record as on a kernel that lacks this probe or kernel hook; see rcp-trace doctor.",
    ),
)


def look_options(command: Command) -> Command:
    """Give a command the options that choose what to look at."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def _target_cgroup(options: dict[str, Any]) -> Cgroup | None:
    if options["container"] and options["cgroup"]:
        raise RuleError("--container and --cgroup are two ways to say one thing: give one.")
    if options["container"]:
        return cgroup_of(container_cgroup(options["container"]))
    return cgroup_of(options["cgroup"]) if options["cgroup"] else None


def look(spool: Path, options: dict[str, Any], *, at_command: bool = False) -> Plan:
    """Check everything that can be checked before anything is started; raises USER_ERRORS.

    The plan has no end and no limits. With ``at_command`` a command is started that may be the
    target.
    """
    features = without(read_features(), options["without"])
    require(features)
    import_bcc()
    for probe in missing_probes(features):
        say(f"the probe {probe.name} is left out here: {probe.without}.")
    assert features.tracefs is not None  # require() made sure
    target = Target(
        pids=with_descendants(require_pid(pid) for pid in options["pid"]),
        comms=tuple(options["comm"]),
        cgroup=_target_cgroup(options),
        command=at_command,
    )
    compile_globs(target.comms)
    min_wait_ns = option_ns("--min-wait", options["min_wait"]) if options["min_wait"] else 0
    requests = resolve_requests(options["request"], features.tracefs, target.pids)
    return Plan(
        spool=spool,
        options=Options(target, requests, min_wait_ns=min_wait_ns),
        features=features,
        roles=resolve_rules(options["foreground"], options["background"], options["profile"]),
    )
