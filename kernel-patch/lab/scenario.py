"""Scenarios: folders with a run.sh for the guest and a scenario.toml that describes it."""

import tomllib
from dataclasses import dataclass, field, fields
from pathlib import Path

from rcp.lab.errors import ScenarioError, UnknownScenarioError

MODES = ("timing", "functional")


@dataclass(frozen=True)
class Scenario:
    """One scenario, as described by its scenario.toml.

    *typical_wall_s* is its wall time on two ordinary cores; the lab ends it after *timeout_s*.
    *memory_mb* is the guest's memory in MiB; *modules* are loaded first.
    """

    name: str
    path: Path
    title: str
    description: str = ""
    typical_wall_s: int = 60
    timeout_s: int = 600
    memory_mb: int = 2048
    mode: str = "timing"
    modules: list[str] = field(default_factory=list)


_KINDS: dict[object, str] = {int: "a whole number", str: "a string"}


def _fits(expected: object, value: object) -> bool:
    if expected is int:
        # bool is a subclass of int in Python, but another type in TOML.
        return isinstance(value, int) and not isinstance(value, bool)
    if expected is str:
        return isinstance(value, str)
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _checked(path: Path, table: dict[str, object]) -> dict[str, object]:
    # Reject unknown keys: with a typo the default would be used silently.
    known: dict[str, object] = {item.name: item.type for item in fields(Scenario)} | {
        "name": None,
        "path": None,
    }
    for key, value in table.items():
        expected = known.get(key)
        if expected is None:
            allowed = ", ".join(name for name, kind in known.items() if kind)
            raise ScenarioError(f"{path}: unknown key {key!r}: the keys are {allowed}")
        if not _fits(expected, value):
            wanted = _KINDS.get(expected, "a list of strings")
            raise ScenarioError(f"{path}: {key} must be {wanted}, not {value!r}")
    if table.get("mode", "timing") not in MODES:
        raise ScenarioError(f"{path}: mode must be one of {', '.join(MODES)}")
    return table


def load(folder: Path) -> Scenario:
    """Read the scenario in *folder*; raise ScenarioError if it is incomplete or wrong."""
    path = folder / "scenario.toml"
    try:
        table = tomllib.loads(path.read_text())
    except FileNotFoundError:
        raise ScenarioError(f"{path} is missing: it must at least set title") from None
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{path} is not valid TOML: {error}") from error
    if "title" not in table:
        raise ScenarioError(f"{path}: title is missing: say in one line what the scenario shows")
    if not (folder / "run.sh").is_file():
        raise ScenarioError(f"{folder / 'run.sh'} is missing: it is what the guest runs")
    values = _checked(path, table)
    return Scenario(name=folder.name, path=folder, **values)  # type: ignore[arg-type]


def load_all(root: Path) -> list[Scenario]:
    """Return all scenarios below *root*, by name; folders with neither file are helpers."""
    if not root.is_dir():
        return []
    found = []
    for folder in sorted(root.iterdir()):
        if (folder / "scenario.toml").is_file() or (folder / "run.sh").is_file():
            found.append(load(folder))
    return found


def find(root: Path, name: str) -> Scenario:
    """Return the scenario *name*; raise UnknownScenarioError, which lists the known ones."""
    if (root / name).is_dir() and name == Path(name).name:
        return load(root / name)
    known = ", ".join(scenario.name for scenario in load_all(root)) or "none"
    raise UnknownScenarioError(
        f"no scenario {name!r} in {root} (known: {known}): "
        "to run a shell command instead, put -- before it"
    )
