"""What shells complete besides names of commands and options.

A callback runs at each TAB, so it reads little and imports nothing slow.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

Callback = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_NO_DISKS = ("loop", "ram", "zram", "sr", "dm-", "md")


def words_from(find: Callable[[], Iterable[str]]) -> Callback:
    """Return a callback for ``shell_complete=`` that completes the words which *find* returns."""

    def complete(
        _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        try:
            found = sorted(word for word in find() if word.startswith(incomplete))
        except OSError:
            return []  # an error in the middle of a command line helps nobody
        return [CompletionItem(word) for word in found]

    return complete


def words(*fixed: str) -> Callback:
    """Return a callback that completes fixed words."""
    return words_from(lambda: fixed)


def _profiles() -> Iterable[str]:
    for entry in (files("rcp.probes") / "profiles").iterdir():
        yield entry.name.removesuffix(".toml")


_RUNS_TRIALS = "tunable.sh"  # fixtures/scenarios/tuning


def scenarios(checkout: Path | None = None) -> Iterator[Traversable]:
    """Yield the folders of the lab's scenarios: those of *checkout*, by default the installed."""
    root = checkout / "fixtures" if checkout else files("rcp.fixtures")
    for entry in (root / "scenarios").iterdir():
        if entry.is_dir() and (entry / "scenario.toml").is_file():
            yield entry


def is_tunable(scenario: Traversable) -> bool:
    """Whether rcp-tune can make trials of a scenario, given by its folder."""
    script = scenario / "run.sh"
    return script.is_file() and _RUNS_TRIALS in script.read_text("utf-8")


def _scenarios() -> Iterable[str]:
    return (folder.name for folder in scenarios())


def _tunable() -> Iterable[str]:
    return (folder.name for folder in scenarios() if is_tunable(folder))


def _disks() -> Iterable[str]:
    for entry in Path("/sys/block").iterdir():
        if not entry.name.startswith(_NO_DISKS):
            yield entry.name


_PARAMETER = re.compile(r"^#   ([A-Z][A-Z_]+) ", re.MULTILINE)
PRESETS = ("hdd7200", "sata_ssd", "sata_ssd_plp", "nvme", "nvme_dc", "optane")
"""The disks that rcpdisk simulates."""


def parameters(
    ctx: click.Context, _param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete ``KEY=`` of the scenario on the command line, which its run.sh lists at its head."""
    chosen = ctx.params.get("name") or ctx.params.get("lab") or "*"
    found = {f"PRESET={preset}" for preset in PRESETS}
    with as_file(files("rcp.fixtures") / "scenarios") as folder:
        for script in folder.glob(f"{chosen}/run.sh"):
            found |= {f"{name}=" for name in _PARAMETER.findall(script.read_text())}
    return [CompletionItem(word) for word in sorted(found) if word.startswith(incomplete)]


PROFILES = words_from(_profiles)
SCENARIOS = words_from(_scenarios)
TUNABLE_SCENARIOS = words_from(_tunable)
DISKS = words_from(_disks)
RULES = words("comm:", "pid:", "cgroup:", "cmdline:")
KNOB_SETS = words("auto", "rcp", "stock")
QUANTILES = ("p50", "p90", "p95", "p99", "p999", "p9999", "max")
FIGURES = (*QUANTILES, *(f"tail{name[1:]}" for name in QUANTILES if name != "max"))
"""Quantiles and means of tails, as analyzer/latencies/quantiles.py has them."""

SLO_QUANTILES = words(*(f"{name}=" for name in QUANTILES))
SLO_FIGURES = words(*(f"{name}=" for name in FIGURES))
