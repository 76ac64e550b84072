"""The options of ``rcp-trace record`` and ``live`` that choose what to record, and their check."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from rcp.probes.attach import import_bcc
from rcp.probes.commands.common import OptionGroup, say
from rcp.probes.contract.durations import option_ns
from rcp.probes.contract.role_profiles import profiles
from rcp.probes.kernel.active import missing_probes, without
from rcp.probes.kernel.features import Features, read_features, require
from rcp.probes.kernel.probe import DEFAULT_SYSCALLS
from rcp.probes.program import Cgroup, Options, Target, compile_globs
from rcp.probes.requests.points import FORMS, resolve_requests
from rcp.probes.who.containers import container_cgroup
from rcp.probes.who.roles import RuleError, cgroup_of, require_pid, resolve_rules, with_descendants


@dataclass(frozen=True)
class TargetOptions:
    """The options as typed; each field is the option of its name."""

    pid: tuple[int, ...] = ()
    comm: tuple[str, ...] = ()
    cgroup: str | None = None
    container: str | None = None
    foreground: tuple[str, ...] = ()
    background: tuple[str, ...] = ()
    profile: tuple[str, ...] = ()
    request: tuple[str, ...] = ()
    min_wait: str | None = None
    without: tuple[str, ...] = ()


@dataclass(frozen=True)
class Selection:
    """What to record on this machine: the options, checked and resolved."""

    options: Options
    features: Features
    roles: list[dict[str, Any]]
    """Role rules, as ``meta`` stores them."""


target_options = OptionGroup(
    "targets",
    TargetOptions,
    click.option(
        "-p", "--pid", type=int, multiple=True, help="Target process, including its children."
    ),
    click.option("--comm", multiple=True, metavar="GLOB", help="Target threads by name."),
    click.option("--cgroup", metavar="PATH", help="Target cgroup (v2), including its children."),
    click.option("--container", metavar="NAME", help="Target container, by name or id prefix."),
    click.option(
        "--foreground",
        multiple=True,
        metavar="RULE",
        help="Foreground tasks: comm:GLOB, pid:N, cgroup:PATH or "
        "cmdline:REGEX.  [default: the targets]",
    ),
    click.option(
        "--background",
        multiple=True,
        metavar="RULE",
        help="Background tasks, by the same rules.",
    ),
    click.option(
        "--profile",
        multiple=True,
        metavar="NAME",
        help=f"Built-in roles of a database's threads: {', '.join(profiles())}.",
    ),
    click.option(
        "--request",
        multiple=True,
        metavar="[NAME=]SPEC",
        help=f"What counts as a request: {FORMS}. Default syscalls, replaced by any "
        f"syscall:NAME: {' '.join(DEFAULT_SYSCALLS)}; syscall:none disables them.",
    ),
    click.option(
        "--min-wait",
        metavar="TIME",
        help="Do not record waits shorter than TIME (20us), to save CPU.",
    ),
    click.option(
        "--without",
        multiple=True,
        metavar="PROBE",
        help="Record without this probe or kernel hook, as on a kernel that lacks it; "
        "rcp-trace doctor lists them.",
    ),
)
"""Gives a command the options that choose targets, requests and roles."""


def _target_cgroup(options: TargetOptions) -> Cgroup | None:
    if options.container and options.cgroup:
        raise RuleError("--container and --cgroup both choose a cgroup: give only one.")
    if options.container:
        return cgroup_of(container_cgroup(options.container))
    return cgroup_of(options.cgroup) if options.cgroup else None


def select(options: TargetOptions, *, has_command: bool = False) -> Selection:
    """Check and resolve the options, before anything is started; raises USER_ERRORS.

    ``has_command``: the recorder will start a command, which may become the target.
    """
    features = without(read_features(), options.without)
    require(features)
    import_bcc()
    for probe in missing_probes(features):
        say(f"the probe {probe.name} is left out here: {probe.without}.")
    assert features.tracefs is not None  # require() made sure
    target = Target(
        pids=with_descendants(require_pid(pid) for pid in options.pid),
        comms=options.comm,
        cgroup=_target_cgroup(options),
        command=has_command,
    )
    compile_globs(target.comms)
    min_wait_ns = option_ns("--min-wait", options.min_wait) if options.min_wait else 0
    requests = resolve_requests(options.request, features.tracefs, target.pids)
    return Selection(
        options=Options(target, requests, min_wait_ns=min_wait_ns),
        features=features,
        roles=resolve_rules(options.foreground, options.background, options.profile),
    )
