"""SQL modules: the tables and views of the store, one public object a file. Pure.

A module is ``sql/<layer>/<name>.sql``: lines ``-- depends: layer.name``, then the CREATE of one
table or view called ``name``, then a comment on it and on each of its columns. Layers point
down: a module may depend only on its own layer and on those before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

LAYERS = ("base", "sched", "block", "journal", "blame", "path", "verdict")

_DEPENDS = re.compile(r"^-- depends: *(\w+\.\w+) *$", re.MULTILINE)
_CREATE = re.compile(r"^CREATE (TABLE|VIEW) (\w+)", re.MULTILINE)
_COMMENT_ON = re.compile(r"^COMMENT ON [^;]*?'(?:[^']|'')*';\n?", re.MULTILINE)


class ModuleError(Exception):
    """A SQL module breaks a rule; the message names the module and the rule."""


@dataclass(frozen=True)
class Module:
    """One SQL file."""

    layer: str
    name: str
    text: str

    @property
    def full_name(self) -> str:
        """``layer.name``, as used in ``-- depends:`` lines."""
        return f"{self.layer}.{self.name}"

    @property
    def depends(self) -> list[str]:
        """Full names of the modules it reads."""
        return _DEPENDS.findall(self.text)

    @property
    def uncommented(self) -> str:
        """The text without its comments, which take two thirds of the time of creating it."""
        return _COMMENT_ON.sub("", self.text)

    @property
    def is_table(self) -> bool:
        """Whether it creates a table rather than a view."""
        match = _CREATE.search(self.text)
        return match is not None and match[1] == "TABLE"


def check(module: Module, known: Iterable[str]) -> None:
    """Raise ModuleError when ``module`` creates another name, or depends on a higher layer."""
    created = [name for _, name in _CREATE.findall(module.text)]
    if created != [module.name]:
        raise ModuleError(f"{module.full_name} must create exactly {module.name}, not {created}")
    names = set(known)
    for other in module.depends:
        if other not in names:
            raise ModuleError(f"{module.full_name} depends on {other}, which does not exist")
        if LAYERS.index(other.partition(".")[0]) > LAYERS.index(module.layer):
            raise ModuleError(f"{module.full_name} depends on {other}, in a layer above its own")


def order(modules: Iterable[Module]) -> list[Module]:
    """Return modules in order of dependency; raise ModuleError on a cycle."""
    waiting = sorted(modules, key=lambda m: (LAYERS.index(m.layer), not m.is_table, m.name))
    for module in waiting:
        check(module, (m.full_name for m in waiting))
    done: list[Module] = []
    while waiting:
        names = {module.full_name for module in done}
        ready = next((m for m in waiting if names.issuperset(m.depends)), None)
        if ready is None:
            raise ModuleError(f"modules depend in a circle: {[m.full_name for m in waiting]}")
        waiting.remove(ready)
        done.append(ready)
    return done


@cache
def read_modules() -> tuple[Module, ...]:
    """Return the modules of rcp, in order of creation."""
    root = files("rcp.analyzer") / "sql"
    found = [
        Module(layer, entry.name.removesuffix(".sql"), entry.read_text(encoding="utf-8"))
        for layer in LAYERS
        for entry in (root / layer).iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(order(found))


def read_schema(*, commented: bool) -> list[str]:
    """Return the statements that make rcp's tables and views, with or without their comments."""
    return [module.text if commented else module.uncommented for module in read_modules()]
