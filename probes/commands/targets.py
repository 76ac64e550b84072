"""The options of ``rcp-trace record`` and ``live`` that choose what to record."""

from __future__ import annotations

from dataclasses import dataclass

import click

from rcp.probes.commands.common import OptionGroup
from rcp.probes.contract.completions import PROFILES, RULES, words
from rcp.probes.contract.role_profiles import profiles
from rcp.probes.kernel.probe import PROBES
from rcp.probes.kernel.syscall_numbers import DEFAULT_SYSCALLS, NUMBERS
from rcp.probes.requests.forms import FORMS

_OTHER_REQUESTS = ("syscall:", "usdt:", "uprobe:", "socket", "postgresql")


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
        shell_complete=RULES,
        help="Foreground tasks: comm:GLOB, pid:N, cgroup:PATH or "
        "cmdline:REGEX.  [default: the targets]",
    ),
    click.option(
        "--background",
        multiple=True,
        metavar="RULE",
        shell_complete=RULES,
        help="Background tasks, by the same rules.",
    ),
    click.option(
        "--profile",
        multiple=True,
        metavar="NAME",
        shell_complete=PROFILES,
        help=f"Built-in roles of a database's threads: {', '.join(profiles())}.",
    ),
    click.option(
        "--request",
        multiple=True,
        metavar="[NAME=]SPEC",
        shell_complete=words(*NUMBERS, *_OTHER_REQUESTS),
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
        shell_complete=words(*(p.name for p in PROBES if not p.essential)),
        help="Record without this probe or kernel hook, as on a kernel that lacks it; "
        "rcp-trace doctor lists them.",
    ),
)
"""Gives a command the options that choose targets, requests and roles."""
