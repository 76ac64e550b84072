"""Imports point one way, and each outside thing has one door (docs/architecture.md §1)."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = {
    "rcp.probes": "probes",
    "rcp.analyzer": "analyzer",
    "rcp.tuner": "tuner",
    "rcp.ui": "ui",
    "rcp.lab": "kernel-patch/lab",
    "rcp.mark": "kernel-patch/mark",
    "rcp.fixtures": "fixtures",
}

# What a package may import of rcp, besides itself.
ALLOWED = {
    "rcp.probes": [],
    "rcp.analyzer": [
        "rcp.probes.durations",
        "rcp.probes.events",
        "rcp.probes.role_profiles",
        "rcp.probes.spool",
        "rcp.probes.telling",
    ],
    "rcp.tuner": ["rcp.analyzer", "rcp.probes.durations"],
    "rcp.ui": ["rcp.analyzer", "rcp.probes.spool", "rcp.tuner"],
    "rcp.lab": [],
    "rcp.mark": [],
    "rcp.fixtures": ["rcp.mark", "rcp.probes.events", "rcp.probes.spool"],
}

# What a single module may import against the rule, and why.
EXCEPTIONS = {
    # rcp-trace is one command over all
    "rcp.analyzer.cli": ["rcp.probes.cli", "rcp.ui.command"],
    "rcp.analyzer.commands.record": ["rcp.probes.cli", "rcp.probes.live_cli"],
    "rcp.fixtures.fake_machine": ["rcp.tuner.knobs.tree"],  # it is one, laid out by hand
    "rcp.fixtures.planted_score": ["rcp.analyzer.store"],  # it judges the analyzer's answers
    "rcp.fixtures.planted_store": ["rcp.analyzer.store"],
    "rcp.fixtures.tune_table": ["rcp.tuner.knobs", "rcp.tuner.search"],  # it measures for them
    "rcp.analyzer.bench": ["rcp.fixtures"],  # it measures on the hand-made traces
    "rcp.analyzer.export.bench": ["rcp.fixtures"],  # Perfetto's engine is a witness, for tests
}

# Outside things, and the only modules (or packages) that may touch them.
DOORS = {
    "bcc": ["rcp.probes.attach"],
    "duckdb": ["rcp.analyzer.store"],
    "optuna": ["rcp.tuner.search.tpe"],
    "perfetto": ["rcp.analyzer.export.wire", "rcp.fixtures.trace_processor"],
    "playwright": ["rcp.ui.browser"],
    "pyarrow": ["rcp.analyzer.arrow"],
    "ruptures": ["rcp.analyzer.gate.history"],
    "skopt": ["rcp.tuner.search.gp"],
    "pandas": ["rcp.ui.web"],
    "streamlit": ["rcp.ui.web"],
}
QEMU_DOOR = "rcp.lab.vm"


@dataclass(frozen=True)
class Module:
    """One source file under its import name."""

    name: str
    source: str

    @property
    def package(self) -> str:
        return ".".join(self.name.split(".")[:2])


def within(name: str, prefixes: list[str]) -> bool:
    return any(name == prefix or name.startswith(prefix + ".") for prefix in prefixes)


def imported_names(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield (line, module, full name) of every import, wherever in the file it stands."""
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, a.name, a.name) for a in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                base = "." * level + (module or "")
                yield from ((node.lineno, base, f"{base}.{a.name}") for a in names)
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), *_]) if ast.unparse(
                func
            ) in ("__import__", "import_module", "importlib.import_module"):
                yield node.lineno, name, name


def violations(module: Module) -> list[str]:
    tree = ast.parse(module.source)
    found = []
    allowed = [module.package, *ALLOWED[module.package], *EXCEPTIONS.get(module.name, [])]
    for line, base, name in imported_names(tree):
        where = f"{module.name}:{line}"
        top = name.split(".")[0]
        if name.startswith("."):
            found.append(f"{where}: relative import {name}; write rcp.…")
        elif top in {folder.split("/")[-1] for folder in FOLDERS.values()}:
            # In a checkout this succeeds, as a second copy of the module.
            found.append(f"{where}: {name} must be imported as rcp.{name}")
        elif top == "rcp" and not (within(name, allowed) or within(base, allowed)):
            found.append(f"{where}: {module.package} must not import {name}")
        elif top in DOORS and not within(module.name, DOORS[top]):
            found.append(f"{where}: {top} is for {', '.join(DOORS[top])} only")
    found += qemu_violations(module, tree)
    return found


def qemu_violations(module: Module, tree: ast.AST) -> list[str]:
    """A program's name counts where it could be run: alone in a string."""
    return [
        f"{module.name}:{node.lineno}: {node.value} is for {QEMU_DOOR} only"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and node.value.startswith("qemu-system")
        and " " not in node.value
        and module.name != QEMU_DOOR
    ]


def modules() -> Iterator[Module]:
    for package, folder in FOLDERS.items():
        for path in sorted((ROOT / folder).rglob("*.py")):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            if "tests" in parts or "scenarios" in parts:
                continue  # tests use what they test; scenarios are programs for the guest
            name = ".".join([package, *(part for part in parts if part != "__init__")])
            yield Module(name, path.read_text())


def test_the_checkout_keeps_the_rules() -> None:
    found = [line for module in modules() for line in violations(module)]
    assert not found, "\n" + "\n".join(found)


def test_every_package_is_read() -> None:
    assert {module.package for module in modules()} == set(FOLDERS)


def test_package_files_hold_a_docstring_only() -> None:
    # pytest's importlib mode imports them twice, so code in them would run twice.
    for path in (p for folder in FOLDERS.values() for p in (ROOT / folder).rglob("__init__.py")):
        body = ast.parse(path.read_text()).body
        assert len(body) == 1, path
        assert ast.get_docstring(ast.Module(body, [])), path


@pytest.mark.parametrize(
    ("name", "source", "complaint"),
    [
        ("rcp.probes.spool", "import rcp.analyzer.store", "must not import rcp.analyzer.store"),
        ("rcp.probes.spool", "from rcp import analyzer", "must not import rcp.analyzer"),
        ("rcp.analyzer.store", "from rcp.probes import attach", "must not import"),
        ("rcp.analyzer.store", "from rcp.probes.cli import main", "must not import"),
        ("rcp.analyzer.report", "def f():\n    from rcp.ui import app", "report:2: rcp.analyzer"),
        ("rcp.lab.cli", "from rcp.probes.events import IO", "must not import"),
        ("rcp.fixtures.synth", "from rcp.lab import vm", "must not import rcp.lab.vm"),
        ("rcp.tuner.loop", "from rcp.probes.events import IO", "must not import"),
        ("rcp.probes.cli", "from .spool import Spool", "relative import"),
        ("rcp.analyzer.store", "from probes.events import IO", "imported as rcp.probes.events"),
        ("rcp.probes.decode", "def f():\n    import bcc", "bcc is for rcp.probes.attach only"),
        ("rcp.probes.decode", "from bcc import BPF", "bcc is for"),
        ("rcp.analyzer.report", "import duckdb", "duckdb is for rcp.analyzer.store only"),
        ("rcp.analyzer.report", "import pyarrow.parquet as pq", "pyarrow is for"),
        ("rcp.analyzer.cli", "importlib.import_module('skopt')", "skopt is for"),
        ("rcp.analyzer.export.perfetto", "import perfetto.protos", "perfetto is for"),
        ("rcp.tuner.cli", "import streamlit", "streamlit is for rcp.ui.web only"),
        ("rcp.lab.cli", "run(['qemu-system-x86_64', '-m'])", "qemu-system-x86_64 is for"),
    ],
)
def test_a_planted_violation_is_found(name: str, source: str, complaint: str) -> None:
    (found,) = violations(Module(name, source))
    assert complaint in found


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("rcp.probes.attach", "import bcc"),
        ("rcp.analyzer.store", "import duckdb"),
        ("rcp.analyzer.arrow", "import pyarrow as pa"),
        ("rcp.analyzer.store", "from rcp.probes.events import IO\nfrom rcp.probes import spool"),
        ("rcp.analyzer.cli", "from rcp.probes.cli import record"),
        ("rcp.analyzer.cli", "from rcp.analyzer import store"),
        ("rcp.ui.screens.overview", "from rcp.tuner import journal"),
        ("rcp.lab.vm", "run(['qemu-system-x86_64'])"),
        ("rcp.lab.cli", "say('install qemu-system-x86')\nimport json"),
    ],
)
def test_an_allowed_import_passes(name: str, source: str) -> None:
    assert violations(Module(name, source)) == []
