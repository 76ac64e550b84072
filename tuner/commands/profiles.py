"""``rcp-tune profiles``: settings to start from, with their evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from rcp.analyzer.text import aligned, wrapped
from rcp.probes.contract.completions import words_from
from rcp.probes.contract.options import format_option
from rcp.probes.contract.printing.output import print_json, print_text
from rcp.tuner.commands.common import TuneGroup
from rcp.tuner.profiles.profile import Profile, ProfileCandidate, load, names, split

_WIDTH = 100

PROFILE_NAMES = words_from(names)
"""What shells complete; no candidates, because bash ends a word at the colon."""


class ListGroup(TuneGroup):
    """A group whose default command is ``list``, also with options, and ``show`` for a name."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Insert ``list`` or ``show`` unless the first word is a command or asks for help."""
        if not args or (args[0].startswith("-") and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        elif not args[0].startswith("-") and args[0] not in self.commands:
            args = ["show", *args]
        return super().parse_args(ctx, args)


@click.group(cls=ListGroup, short_help="List and show profiles: settings to start from.")
def profiles() -> None:
    """List and show profiles: settings to start from, with the evidence for each value.

    A profile has candidates, such as one for the patched kernel and one for the stock kernel.
    `rcp-tune --start NAME` tries them before anything else. `rcp-tune keep NAME` writes files with
    the first one that this machine can have, `rcp-tune verify NAME` compares with it.
    NAME:CANDIDATE chooses one. `rcp-tune profiles` is short for `rcp-tune profiles list`,
    `rcp-tune profiles NAME` for `rcp-tune profiles show NAME`.

    \b
    Examples:
      rcp-tune profiles
      rcp-tune profiles show postgresql
      sudo rcp-tune --slo p99=30ms --start postgresql --disk sda -- ./pgbench.sh
      rcp-tune keep postgresql:stock --disk sda --format udev
    """


@profiles.command("list", short_help="List the profiles.")
@format_option("text", "json")
def list_(kind: str) -> None:
    """List the profiles and their candidates.

    \b
    Examples:
      rcp-tune profiles list
      rcp-tune profiles list --format json
    """
    found = [load(name) for name in names()]
    if kind == "json":
        print_json([_summary(profile) for profile in found])
        return
    rows = [["profile", "candidate", "measured", "what it is"]]
    for profile in found:
        for one in profile.candidate:
            measured = "yes" if one.evidence else "no"
            rows.append([profile.name, one.name, measured, one.about])
    print_text("\n".join(aligned(rows)))


def _summary(profile: Profile) -> dict[str, Any]:
    candidates = [
        {"name": one.name, "about": one.about, "measured": bool(one.evidence)}
        for one in profile.candidate
    ]
    return {"name": profile.name, "title": profile.title, "candidates": candidates}


@profiles.command(short_help="Show a profile with its evidence.")
@click.argument("name", metavar="NAME[:CANDIDATE]", shell_complete=PROFILE_NAMES)
@format_option("text", "json")
def show(name: str, kind: str) -> None:
    """Show a profile: each value with its reason and source, and what was measured.

    \b
    Examples:
      rcp-tune profiles show postgresql
      rcp-tune profiles show rocksdb:stock-reads --format json
    """
    profile, wanted = split(name)
    if kind == "json":
        table = profile.to_json()
        table["candidate"] = [c for c in table["candidate"] if wanted in ("", c["name"])]
        print_json(table)
        return
    lines = [f"{profile.name}: {profile.title}", *_text(profile.about), *_text(profile.mark)]
    for one in profile.candidate:
        if wanted in ("", one.name):
            lines += ["", *_candidate(profile, one)]
    print_text("\n".join(lines))


def _text(text: str, indent: str = "  ") -> list[str]:
    return wrapped(text, _WIDTH, indent, indent)


def _candidate(profile: Profile, one: ProfileCandidate) -> Iterator[str]:
    yield from wrapped(f"{profile.name}:{one.name}: {one.about}", _WIDTH, "", "  ")
    for setting in one.setting:
        yield f"  {setting.knob} = {setting.value}"
        yield from _text(f"{setting.why} ({setting.source})", "    ")
    if one.no_evidence:
        yield from _text(f"no evidence of our own: {one.no_evidence}")
    for evidence in one.evidence:
        yield from _text(f"measured: {evidence.measured}")
        yield f"    {evidence.command}"
        yield f"    commit {evidence.commit}, {evidence.source}"
