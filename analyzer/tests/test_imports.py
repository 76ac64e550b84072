"""Imports point one way, and each outside thing has one door (docs/architecture.md §1)."""

import ast
import configparser
import graphlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator
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

TOP_FOLDERS = (".ci", "probes", "analyzer", "tuner", "ui", "kernel-patch", "fixtures")

# What a package may import of rcp, besides itself.
ALLOWED = {
    "rcp.probes": [],
    "rcp.analyzer": ["rcp.probes.contract"],
    "rcp.tuner": ["rcp.analyzer", "rcp.probes.contract"],
    "rcp.ui": ["rcp.analyzer", "rcp.probes.contract", "rcp.tuner"],
    "rcp.lab": [f"rcp.probes.contract.{name}" for name in ("start", "completions", "statuses")],
    "rcp.mark": ["rcp.probes.contract.start", "rcp.probes.contract.printing.spelled"],
    "rcp.fixtures": ["rcp.mark", "rcp.probes.contract"],
}

# What a single module or package may import against the rule, and why.
EXCEPTIONS = {
    # rcp-trace is one command over all
    "rcp.analyzer.cli": ["rcp.probes.commands", "rcp.ui.command"],
    "rcp.analyzer.commands.record": ["rcp.probes.commands"],
    "rcp.fixtures.fake_machine": ["rcp.tuner.knobs.tree"],  # it is one, laid out by hand
    # they judge the analyzer's answers
    "rcp.fixtures.experiments.cases": ["rcp.analyzer.text"],
    "rcp.fixtures.experiments.planted_score": ["rcp.analyzer.db.store"],
    "rcp.fixtures.experiments.planted_store": ["rcp.analyzer.db.store"],
    "rcp.fixtures.experiments.policies.slowest": ["rcp.analyzer.db.store"],
    "rcp.fixtures.experiments.truth.score": ["rcp.analyzer.db.store"],
    "rcp.fixtures.experiments.truth.read": [
        *("rcp.analyzer.db.store", "rcp.analyzer.loading.opening", "rcp.analyzer.whatif"),
    ],
    "rcp.fixtures.experiments.fuzz": ["rcp.analyzer.cli"],
    # it measures for them
    "rcp.fixtures.experiments.tune_table": ["rcp.tuner.knobs", "rcp.tuner.search"],
    "rcp.analyzer.bench": ["rcp.fixtures"],  # hand-made traces; Perfetto's engine, a witness
}

# The rooms of a folder, lowest first: a room imports from those before it, never from later ones.
# A room is a sub-package or a module.
ROOMS = {
    "rcp.probes": (
        *("contract", "formats", "cost", "signals", "command"),
        *(
            "kernel",
            "requests",
            "compiled",
            "program",
            "compiler",
            "loader",
            "who",
            "ring",
            "attach",
        ),
        *("drain", "devices", "upkeep"),
        *("diagnosis", "flight", "plan", "record", "agent", "live", "bench", "commands"),
    ),
    "rcp.analyzer": (
        *("text", "tables", "rows", "db", "arrays", "paths", "blame", "loading"),
        *("latencies", "selection", "whatif", "reports", "compare", "export", "fleet", "agent"),
        *("bench", "commands", "gate", "cli", "__main__"),
    ),
    "rcp.analyzer.gate": (
        *("limits", "statistics", "correction", "host", "machine", "child", "causes"),
        *("saved", "judgement", "policy", "fleet_runs", "side", "running", "sufficiency", "saving"),
        *("comparing", "judge", "sequential", "output", "history"),
        *("pytest_plugin", "bench", "commands"),
    ),
    "rcp.tuner": (
        *("errors", "knobs", "profiles", "session", "search", "trials", "studies"),
        *("tuning", "bench", "commands", "cli", "__main__"),
    ),
    "rcp.ui": (
        *("texts", "palette", "places", "queries", "rows", "bound", "info", "style", "source"),
        *("linked",),
        *(
            "ahead",
            "studies",
            "charts",
            "web",
            "frame",
            "parts",
            "screens",
            "app",
            "serve",
            "command",
        ),
        *("browser", "screenshots", "bench"),
    ),
    "rcp.lab": (
        *("errors", "progress", "command", "cache", "scenario", "series", "debian"),
        *("sources", "wheel"),
        *("rootfs", "vm", "kernel", "module", "payload", "kunit", "run", "request"),
        *("commands", "cli", "__main__"),
    ),
    "rcp.fixtures": (
        *(
            "console",
            "processes",
            "synth",
            "damage",
            "explored",
            "fake_machine",
            "trace_processor",
            "experiments",
        ),
    ),
}

FILES_MAX = 20
"""Python files in one folder beside its sub-packages: what a newcomer takes in at a glance."""

# Outside things, and the only modules (or packages) that may touch them.
DOORS = {
    "bcc": ["rcp.probes.compiler"],
    "distributed": ["rcp.analyzer.fleet.spread.cluster"],
    "duckdb": ["rcp.analyzer.db.store", "rcp.analyzer.db.connect"],
    "fsspec": ["rcp.analyzer.fleet.remote"],
    "optuna": ["rcp.tuner.search.tpe"],
    "perfetto": ["rcp.analyzer.export.wire", "rcp.fixtures.trace_processor"],
    "playwright": ["rcp.ui.browser"],
    "pyarrow": ["rcp.analyzer.db.arrow"],
    "rich": ["rcp.tuner.commands.live_table"],
    "ruptures": ["rcp.analyzer.gate.history"],
    "skopt": ["rcp.tuner.search.gp"],
    "pandas": ["rcp.ui.web"],
    "streamlit": ["rcp.ui.web"],
}
QEMU_DOOR = "rcp.lab.vm"
DEBIAN_DOOR = "rcp.lab.debian"


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


def room_of(name: str, folder: str) -> str:
    """Return the room of a folder that a module is in; empty for a module of elsewhere."""
    inside = name.removeprefix(folder + ".")
    return "" if inside == name else inside.split(".")[0]


def climbs(module: Module) -> list[str]:
    """Say which imports of a module point up inside its folder."""
    found = []
    for folder, rooms in ROOMS.items():
        own = room_of(module.name, folder)
        if not own:
            continue
        if own not in rooms:
            found.append(f"{module.name}: {own} has no place in ROOMS[{folder!r}]")
            continue
        for line, base, name in imported_names(ast.parse(module.source)):
            other = room_of(name, folder) or room_of(base, folder)
            if other in rooms and rooms.index(other) > rooms.index(own):
                found.append(f"{module.name}:{line}: {own} is below {other} in {folder}")
    return found


def circles(found: Iterable[Module]) -> list[list[str]]:
    """Return the circles of imports: wherever in a file an import stands, it counts."""
    sources = {module.name: module for module in found}
    graph = {
        name: {
            target
            for _, base, full in imported_names(ast.parse(module.source))
            for target in [full if full in sources else base]
            if target in sources and target != name
        }
        for name, module in sources.items()
    }
    sorter = graphlib.TopologicalSorter(graph)
    try:
        sorter.prepare()
    except graphlib.CycleError as error:
        return [error.args[1]]
    return []


def violations(module: Module) -> list[str]:
    tree = ast.parse(module.source)
    found = []
    excused = [
        name for key, names in EXCEPTIONS.items() for name in names if within(module.name, [key])
    ]
    allowed = [module.package, *ALLOWED[module.package], *excused]
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


def test_no_import_points_up_inside_a_folder() -> None:
    found = [line for module in modules() for line in climbs(module)]
    assert not found, "\n" + "\n".join(found)


def test_no_room_is_listed_that_does_not_exist() -> None:
    names = [module.name for module in modules()]
    for folder, rooms in ROOMS.items():
        assert set(rooms) == {room_of(name, folder) for name in names} - {""}


def test_imports_go_in_no_circle() -> None:
    assert circles(modules()) == []


def test_folders_can_be_taken_in_at_a_glance() -> None:
    python = [path for top in TOP_FOLDERS for path in (ROOT / top).rglob("*.py")]
    count = Counter(path.parent.relative_to(ROOT) for path in python)
    assert [str(folder) for folder, n in count.items() if n > FILES_MAX] == []


def test_every_package_is_installed() -> None:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    declared = set(config["options"]["packages"].split())
    found = {
        ".".join([package, *path.parent.relative_to(ROOT / folder).parts])
        for package, folder in FOLDERS.items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    data_only = {"rcp.kernel_patch"}  # the patches, for a lab without a checkout
    assert declared == found | data_only


def listed_doors() -> dict[str, set[str]]:
    """Read CONTRIBUTING's table: each outside thing, and the modules it names for it."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    listed: dict[str, set[str]] = {}
    for folder, doors in re.findall(r"^\| `([\w-]+)/` .*\| (.*?) ?\|$", text, re.MULTILINE):
        package = "rcp" if folder == "kernel-patch" else f"rcp.{folder}"
        for things, paths in re.findall(r"([\w, ]+): (`[\w/]+\.py`(?:, `[\w/]+\.py`)*)", doors):
            found = {f"{package}.{path.strip('`')[:-3]}" for path in paths.split(", ")}
            for thing in things.strip().split(", "):
                listed.setdefault(thing, set()).update(name.replace("/", ".") for name in found)
    return listed


def test_contributing_lists_the_doors() -> None:
    listed = listed_doors()
    beside_python = {"qemu": {QEMU_DOOR}, "mmdebstrap": {DEBIAN_DOOR}, "chroot": {DEBIAN_DOOR}}
    assert listed == {thing: set(doors) for thing, doors in DOORS.items()} | beside_python


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
        ("rcp.probes.contract.spool", "import rcp.analyzer.db.store", "must not import"),
        ("rcp.probes.contract.spool", "from rcp import analyzer", "must not import rcp.analyzer"),
        ("rcp.analyzer.db.store", "from rcp.probes import attach", "must not import"),
        ("rcp.analyzer.db.store", "from rcp.probes.commands.record import x", "must not import"),
        ("rcp.analyzer.reports.story", "def f():\n    from rcp.ui import app", "story:2: rcp."),
        ("rcp.lab.cli", "from rcp.probes.contract.events import IO", "must not import"),
        ("rcp.fixtures.synth", "from rcp.lab import vm", "must not import rcp.lab.vm"),
        ("rcp.tuner.tuning.tune", "from rcp.probes.record import record", "must not import"),
        ("rcp.probes.commands.record", "from .spool import Spool", "relative import"),
        ("rcp.analyzer.db.store", "from probes.contract import events", "imported as rcp.probes"),
        ("rcp.probes.drain", "def f():\n    import bcc", "bcc is for rcp.probes.compiler only"),
        ("rcp.probes.drain", "from bcc import BPF", "bcc is for"),
        ("rcp.analyzer.reports.report", "import duckdb", "duckdb is for rcp.analyzer.db.store"),
        ("rcp.analyzer.reports.report", "import pyarrow.parquet as pq", "pyarrow is for"),
        ("rcp.analyzer.cli", "importlib.import_module('skopt')", "skopt is for"),
        ("rcp.analyzer.export.perfetto", "import perfetto.protos", "perfetto is for"),
        ("rcp.tuner.cli", "import streamlit", "streamlit is for rcp.ui.web only"),
        ("rcp.tuner.cli", "from rich.table import Table", "rich is for"),
        ("rcp.lab.cli", "run(['qemu-system-x86_64', '-m'])", "qemu-system-x86_64 is for"),
    ],
)
def test_a_planted_violation_is_found(name: str, source: str, complaint: str) -> None:
    (found,) = violations(Module(name, source))
    assert complaint in found


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("rcp.probes.compiler", "import bcc"),
        ("rcp.analyzer.db.store", "import duckdb"),
        ("rcp.analyzer.db.arrow", "import pyarrow as pa"),
        ("rcp.analyzer.db.store", "from rcp.probes.contract.events import IO"),
        ("rcp.analyzer.db.store", "from rcp.probes.contract import spool"),
        ("rcp.analyzer.cli", "from rcp.probes.commands.doctor import doctor"),
        ("rcp.analyzer.cli", "from rcp.analyzer.db import store"),
        ("rcp.ui.screens.overview", "from rcp.tuner.session import journal"),
        ("rcp.lab.vm", "run(['qemu-system-x86_64'])"),
        ("rcp.lab.cli", "say('install qemu-system-x86')\nimport json"),
    ],
)
def test_an_allowed_import_passes(name: str, source: str) -> None:
    assert violations(Module(name, source)) == []


@pytest.mark.parametrize(
    ("name", "source", "complaint"),
    [
        ("rcp.analyzer.db.store", "from rcp.analyzer.reports import story", "db is below reports"),
        ("rcp.analyzer.db.store", "from rcp.analyzer import cli", "db is below cli"),
        ("rcp.analyzer.gate.judge", "import rcp.analyzer.gate.commands.run", "below commands"),
        ("rcp.tuner.studies.study", "def f():\n    import rcp.tuner.tuning.tune", "below tuning"),
        ("rcp.probes.new_file", "", "new_file has no place"),
    ],
)
def test_a_planted_climb_is_found(name: str, source: str, complaint: str) -> None:
    (found,) = climbs(Module(name, source))
    assert complaint in found


def test_a_planted_circle_is_found() -> None:
    (circle,) = circles(
        [
            Module("rcp.ui.info.a", "from rcp.ui.info import b"),
            Module("rcp.ui.info.b", "def f():\n    from rcp.ui.info.c import x"),
            Module("rcp.ui.info.c", "import rcp.ui.info.a"),
        ]
    )
    assert set(circle) == {"rcp.ui.info.a", "rcp.ui.info.b", "rcp.ui.info.c"}
