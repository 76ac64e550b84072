"""Inside a package a name has one meaning: no two classes and no two constants share one."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator

from rcp.analyzer.tests.test_imports import Module, modules

# Constants that may differ between the modules of a package, and why.
DIFFERING = {
    ("rcp.fixtures", "_HEAD"): "each page of results begins with a text of its own",
}


def classes(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the name of each class of a module, with the module: no two definitions are equal."""
    for node in ast.walk(ast.parse(module.source)):
        if isinstance(node, ast.ClassDef):
            yield node.name, module.name


def assigned(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield the names that an assignment binds, with the source of their values."""
    if isinstance(target, ast.Name):
        yield target.id, ast.unparse(value)
    elif isinstance(target, ast.Tuple):
        whole = f"{ast.unparse(target)} = {ast.unparse(value)}"
        values = value.elts if isinstance(value, ast.Tuple) else [ast.Constant(whole)] * 99
        for name, one in zip(target.elts, values, strict=False):
            yield from assigned(name, one)


def constants(module: Module) -> Iterator[tuple[str, str]]:
    """Yield the constants of a module in UPPER_CASE, with the source of their values."""
    for node in ast.parse(module.source).body:
        match node:
            case ast.Assign(targets=targets, value=value):
                found = [pair for target in targets for pair in assigned(target, value)]
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                found = list(assigned(target, value))
            case _:
                continue
        yield from ((name, text) for name, text in found if name.isupper())


def duplicate_classes(found: Iterable[Module]) -> list[str]:
    places = defaultdict(list)
    for module in found:
        for name, place in classes(module):
            places[module.package, name].append(place)
    return [f"{name}: {', '.join(p)}" for (_, name), p in places.items() if len(p) > 1]


def differing_constants(found: Iterable[Module]) -> list[str]:
    values: dict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for module in found:
        for name, value in constants(module):
            values[module.package, name].setdefault(value, module.name)
    return [
        f"{key[1]}: {', '.join(by_value.values())}"
        for key, by_value in values.items()
        if len(by_value) > 1 and key not in DIFFERING
    ]


def test_no_two_classes_of_a_package_have_one_name() -> None:
    assert duplicate_classes(modules()) == []


def test_no_constant_has_two_values_in_a_package() -> None:
    assert differing_constants(modules()) == []


def test_every_exception_is_needed() -> None:
    seen = defaultdict(set)
    for module in modules():
        for name, value in constants(module):
            seen[module.package, name].add(value)
    assert [key for key in DIFFERING if len(seen[key]) < 2] == []


def test_duplicates_are_found() -> None:
    found = [
        Module("rcp.probes.a", "class Rate: ...\nLIMIT, OTHER = 1, 2\nSAME: int = 5"),
        Module("rcp.probes.b.c", "class Rate: ...\nLIMIT = 3\nSAME = 5"),
        Module("rcp.tuner.a", "class Rate: ...\nLIMIT = 4"),
    ]
    assert duplicate_classes(found) == ["Rate: rcp.probes.a, rcp.probes.b.c"]
    assert differing_constants(found) == ["LIMIT: rcp.probes.a, rcp.probes.b.c"]
