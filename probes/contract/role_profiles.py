"""Built-in role profiles: which threads of a database are foreground, which background. Pure.

A profile is ``profiles/NAME.toml``: a title, a source, and rules in order, each with its role,
its rule (``comm:GLOB`` or ``cmdline:REGEX``, as on the command line) and why.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_SUFFIX = ".toml"


@dataclass(frozen=True)
class ProfileRule:
    """One rule of a profile."""

    role: str
    rule: str
    why: str


@dataclass(frozen=True)
class Profile:
    """The rules of one database, and where they come from."""

    name: str
    title: str
    source: str
    rules: tuple[ProfileRule, ...]


@cache
def profiles() -> dict[str, Profile]:
    """Return the built-in profiles by name."""
    by_name = {}
    for entry in (files("rcp.probes") / "profiles").iterdir():
        if not entry.name.endswith(_SUFFIX):
            continue
        name = entry.name.removesuffix(_SUFFIX)
        text = tomllib.loads(entry.read_text(encoding="utf-8"))
        rules = tuple(ProfileRule(rule["role"], rule["rule"], rule["why"]) for rule in text["rule"])
        by_name[name] = Profile(name, text["title"], text["source"], rules)
    return dict(sorted(by_name.items()))
